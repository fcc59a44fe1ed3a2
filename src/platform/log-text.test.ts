import { expect, test } from 'vitest';
import { logText } from './log-text.ts';

const line = (fields: object): string =>
  logText(JSON.stringify({ level: 30, time: Date.parse('2026-01-02T03:04:05'), pid: 1, ...fields }));

test('shows the time, the message and the values', () => {
  expect(line({ msg: 'a lease was lost', jobId: 'a-1', items: 3 })).toBe(
    '03:04:05 a lease was lost jobId=a-1 items=3\n',
  );
  expect(line({ level: 40, msg: 'slow', reason: 'two words', more: { a: [1] } })).toBe(
    '03:04:05 warning: slow reason="two words" more.a=1\n',
  );
});

test('keeps lines short: shortened ids, few digits, one level of names, no nulls', () => {
  const signs = { flushMs: null, poolWaitMs: 175.0269199999998, memory: 0.004385517370746863, load: 9.64 };
  const jobId = '0e5e247a-3fab-8f3b-a432-1942850f929f';
  expect(line({ msg: 'worker pressure changed', jobId, pipelines: ['a', 'b c'], to: null, signs })).toBe(
    '03:04:05 worker pressure changed jobId=0e5e247a pipelines="a,b c" signs.poolWaitMs=175 signs.memory=0.004386 signs.load=9.64\n',
  );
  expect(line({ msg: 'x', total: 1_234_567, empty: [], deep: { a: { b: 1 } } })).toBe(
    '03:04:05 x total=1234567 empty="" deep.a={"b":1}\n',
  );
});

test('removes control sequences from values and truncates them', () => {
  const text = line({ msg: 'x', error: `a\u001b[2Jb\nc\u202ed${'e'.repeat(5000)}` });
  expect(text.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text.length).toBeLessThan(400);
});
