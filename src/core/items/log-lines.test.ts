import { describe, expect, it } from 'vitest';
import { type LogLine, LogLines } from './log-lines.ts';

const LIMITS = { logMaxLines: 3, logMaxBytes: 1024 };

function stored(lines: LogLines): LogLine[] {
  return JSON.parse(lines.toJson() ?? '[]') as LogLine[];
}

describe('log lines of an attempt', () => {
  it('are JSON with level, message, fields and time', () => {
    const lines = new LogLines(LIMITS);
    lines.add(12.4, 'warn', 'price is old', { days: 3, nested: { a: [1] } });
    expect(stored(lines)).toEqual([
      { atMs: 12, level: 'warn', message: 'price is old', fields: { days: 3, nested: { a: [1] } } },
    ]);
  });

  it('are none if nothing was logged', () => {
    expect(new LogLines(LIMITS).toJson()).toBeNull();
  });

  it('are the first ones up to the limit; the others are counted', () => {
    const lines = new LogLines(LIMITS);
    for (let n = 0; n < 10; n += 1) lines.add(0, 'info', `line ${n}`, {});
    expect(stored(lines).map(({ message }) => message)).toEqual(['line 0', 'line 1', 'line 2']);
    expect(lines.dropped).toBe(7);
  });

  it('stay within their bytes, whatever their characters, and have no gap', () => {
    const lines = new LogLines({ logMaxLines: 1000, logMaxBytes: 1024 });
    for (let n = 0; n < 50; n += 1) lines.add(0, 'info', '€'.repeat(50), {});
    lines.add(0, 'info', 'short', {});
    expect(Buffer.byteLength(lines.toJson()!)).toBeLessThanOrEqual(1026);
    expect(stored(lines).some(({ message }) => message === 'short')).toBe(false);
    expect(stored(lines).length + lines.dropped).toBe(51);
  });

  it('do not hold a gigabyte that a handler logs', () => {
    const lines = new LogLines({ logMaxLines: 100, logMaxBytes: 32_768 });
    const megabyte = 'x'.repeat(1_048_576);
    for (let n = 0; n < 1024; n += 1) lines.add(0, 'info', megabyte, { megabyte });
    expect(stored(lines)).toEqual([]);
    expect(lines.dropped).toBe(1024);
  });

  it('replace NUL and unpaired surrogates, and keep an emoji', () => {
    const lines = new LogLines(LIMITS);
    lines.add(0, 'error', 'a\0b \ud83d 😀', { 'key\0': '\udc00', ok: '😀\n' });
    expect(stored(lines)).toMatchObject([
      { message: 'a\ufffdb \ufffd 😀', fields: { 'key\ufffd': '\ufffd', ok: '😀\n' } },
    ]);
    expect(lines.toJson()).not.toContain('\n');
  });

  it('accept fields that have no JSON, and show errors by their message', () => {
    const lines = new LogLines(LIMITS);
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    lines.add(0, 'info', 'circular', circular);
    lines.add(0, 'info', 'big', { n: 1n });
    lines.add(0, 'info', 'failed', { error: new TypeError('no price') });
    expect(stored(lines).map(({ fields }) => fields)).toEqual([
      { dropped: 'fields that are not JSON' },
      { dropped: 'fields that are not JSON' },
      { error: 'TypeError: no price' },
    ]);
  });
});
