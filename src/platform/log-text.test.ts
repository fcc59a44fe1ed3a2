import { expect, test } from 'vitest';
import { logText } from './log-text.ts';

const line = (fields: object): string =>
  logText(JSON.stringify({ level: 30, time: Date.parse('2026-01-02T03:04:05'), pid: 1, ...fields }));

test('a line for people has the time, the message and its values', () => {
  expect(line({ msg: 'a lease was lost', jobId: 'a-1', items: 3 })).toBe(
    '03:04:05 a lease was lost jobId=a-1 items=3\n',
  );
  expect(line({ level: 40, msg: 'slow', reason: 'two words', more: { a: [1] } })).toBe(
    '03:04:05 warning: slow reason="two words" more={"a":[1]}\n',
  );
});

test('values in a line for people cannot steer the terminal, and are cut', () => {
  const text = line({ msg: 'x', error: `a\u001b[2Jb\nc\u202ed${'e'.repeat(5000)}` });
  expect(text.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text.length).toBeLessThan(400);
});
