import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest';
import type { UnfinishedRows } from '../core/jobs/unfinished-rows.ts';
import { createProgressDisplay, type ProgressStream } from './progress-display.ts';
import {
  displayWidth,
  formatCount,
  formatDuration,
  formatRate,
  type ProgressSnapshot,
  printable,
  renderPlainLine,
  renderProgress,
  renderSummary,
} from './progress-lines.ts';
import { WorkerOutput } from './worker-output.ts';

const ESC = '\x1b';
const plain = { color: false };

describe('the numbers', () => {
  it('have thousands separators', () => {
    expect(formatCount(1234567)).toBe('1,234,567');
  });

  it.each([
    [0, '0.0s'],
    [850, '0.8s'],
    [59_999, '59s'],
    [65_000, '1m 05s'],
    [7_380_000, '2h 03m'],
    [273_600_000, '3d 04h'],
    [Number.NaN, '?'],
  ])('show a duration of %d ms as %s', (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });

  it.each([
    [0, '0 rows/s'],
    [0.05, '3.0 rows/min'],
    [2.55, '2.5 rows/s'],
    [1234.4, '1,234 rows/s'],
    [Number.POSITIVE_INFINITY, '? rows/s'],
  ])('show a rate of %d per second as %s', (rate, text) => {
    expect(formatRate(rate)).toBe(text);
  });
});

describe('text from outside', () => {
  it('loses escape codes, control characters and line breaks', () => {
    expect(printable(`a${ESC}[2J${ESC}[31mred${ESC}[0m\r\n\tb\x00\x07\x9b31mc`)).toBe('ared b c');
    expect(printable(`${ESC}]0;new title\x07${ESC}P1;2q${ESC}\\${ESC}`)).not.toMatch(/\p{Cc}/u);
  });

  it('loses characters that reverse or hide what follows', () => {
    expect(printable('abc\u202Edef\u200B\u2066ghi\uFEFF')).toBe('abcdefghi');
    expect(printable('line\u2028separator')).toBe('line separator');
    expect(printable('half \ud83d emoji')).toBe('half \ufffd emoji');
  });

  it('is measured in columns, wide characters as two', () => {
    expect(displayWidth('abc')).toBe(3);
    expect(displayWidth('田中')).toBe(4);
    expect(displayWidth('한국')).toBe(4);
    expect(displayWidth('🚚!')).toBe(3);
    expect(displayWidth('❤\ufe0f')).toBe(2);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(displayWidth('größer')).toBe(6);
  });
});

describe('the live block', () => {
  it('shows bar, percentage, rate, ETA, counts and errors by group', () => {
    expect(renderProgress(running(), 80, plain)).toEqual([
      'price-lookup   RUNNING   8 workers   job 0199a7c2-77aa',
      `${'█'.repeat(30)}▒${'░'.repeat(42)}  42.3%`,
      '42,310 of 100,000 rows   812 rows/s over the last 52 s   ETA 1m 05s to 1m 20s',
      'elapsed 52s',
      'done 40,100   not found 1,900   failed 310   running 64   waiting for a retry 12',
      'waiting for a worker 57,614',
      'Errors by group (attempts, phase, example)',
      '  300 × lookup  HTTP 503 from prices.example',
      '   10 × parse   expected price to be a number, got "n/a"',
    ]);
  });

  it('names the reason for waiting: a retry or a rate limit', () => {
    const waiting = renderProgress(
      running({ unfinished: rowsOf({ retry: 12, rateLimit: 1595 }) }),
      80,
      plain,
    ).join('\n');
    expect(waiting).toMatch(/waiting for a rate limit 1,595\s+waiting for a retry 12/);
    expect(renderPlainLine(running({ unfinished: rowsOf({ rateLimit: 1595 }) }))).toContain(
      ', waiting for a rate limit 1,595,',
    );
    expect(renderPlainLine(running({ unfinished: rowsOf({ rateLimit: 1595 }) }))).not.toContain('retry');
  });

  it.each([
    [0, '0.0%'],
    [1, '<0.1%'],
    [66_666, '6.7%'],
    [977_900, '97.8%'],
    [999_999, '99.9%'],
    [1_000_000, '100.0%'],
  ])('rounds percentages: %d of a million rows are %s', (DONE, percent) => {
    const line = renderPlainLine(running({ total: 1_000_000, counts: { DONE } }));
    expect(line).toContain(`RUNNING ${percent} (`);
  });

  it('shows rows read and no bar before the total is known', () => {
    const snapshot = running({
      state: 'INGESTING',
      total: null,
      ingested: 12_345,
      counts: {},
      itemsPerSecond: 0,
      eta: null,
      errorGroups: [],
      unfinished: rowsOf({}),
    });
    const text = renderProgress(snapshot, 80, plain).join('\n');
    expect(text).toContain('12,345 rows read so far');
    expect(text).not.toMatch(/%|█|░|ETA/);
  });

  it('shows a job without rows without dividing by zero', () => {
    const snapshot = running({ state: 'DONE', total: 0, ingested: 0, counts: {}, errorGroups: [] });
    const text = [...renderProgress(snapshot, 80, plain), ...renderSummary(snapshot, 80, plain)].join('\n');
    expect(text).toContain('0 of 0 rows');
    expect(text).not.toMatch(/NaN|Infinity|%/);
  });

  it('shows 100.0% and a full bar only when every row is finished', () => {
    const almost = running({ total: 1_000_000, counts: { DONE: 999_999, PROCESSING: 1 } });
    expect(renderProgress(almost, 80, plain)[1]).toBe(`${'█'.repeat(72)}▒  99.9%`);
    const all = running({ total: 1_000_000, counts: { DONE: 1_000_000 } });
    expect(renderProgress(all, 80, plain)[1]).toBe(`${'█'.repeat(73)} 100.0%`);
  });

  it('keeps a cell in the bar for one error among a million rows', () => {
    const snapshot = running({ total: 1_000_000, counts: { DONE: 999_999, ERROR: 1 } });
    expect(renderProgress(snapshot, 80, { color: true })[1]).toContain(`${ESC}[31m█${ESC}[39m`);
  });

  it('stacks the bar by status in colour', () => {
    const snapshot = running({ total: 100, counts: { DONE: 50, NOT_FOUND: 25, ERROR: 25 } });
    expect(renderProgress(snapshot, 27, { color: true }).find((line) => line.includes('█'))).toBe(
      `${ESC}[32m${'█'.repeat(10)}${ESC}[39m${ESC}[33m${'█'.repeat(5)}${ESC}[39m` +
        `${ESC}[31m${'█'.repeat(5)}${ESC}[39m 100.0%`,
    );
  });

  it('has no escape codes without colour', () => {
    expect(renderProgress(running({ notice: 'slow' }), 80, plain).join('')).not.toContain(ESC);
  });

  it('shows the five largest error groups and the command that lists the others', () => {
    const errorGroups = [1, 2, 3, 4, 5, 6, 7].map((n) => group({ count: n, sample: `kind ${n}` }));
    const lines = renderProgress(running({ errorGroups }), 80, plain);
    expect(lines.filter((line) => line.includes('kind')).map((line) => line.trim().split(' ')[0])).toEqual([
      '7',
      '6',
      '5',
      '4',
      '3',
    ]);
    expect(lines.at(-1)).toBe('  More groups: rowmill jobs errors 0199a7c2-77aa');
  });

  it('cuts a long error text at the width, between characters', () => {
    const errorGroups = [group({ sample: '価格'.repeat(5000) }), group({ sample: '👨‍👩‍👧🚚'.repeat(500) })];
    for (const line of renderProgress(running({ errorGroups }), 60, plain).slice(-2)) {
      expect(displayWidth(line)).toBeGreaterThan(56);
      expect(displayWidth(line)).toBeLessThanOrEqual(60);
      expect(line.endsWith('…')).toBe(true);
      expect(line).not.toMatch(/\p{Cs}/u);
    }
  });

  it('keeps a hostile error text harmless and on its own line', () => {
    const errorGroups = [
      group({
        sample: `${ESC}[2J${ESC}[H${ESC}]8;;http://evil\x07click\nDONE 100%\r${ESC}c`,
        phase: `a\n${ESC}[1m`,
      }),
    ];
    const lines = renderProgress(running({ errorGroups, pipeline: `p${ESC}[5m\n` }), 80, plain);
    expect(lines.join('')).not.toMatch(/\p{Cc}/u);
    expect(lines.at(-1)).toBe('  1 × a  click DONE 100%');
  });

  it('falls back to the signature when a sample shows nothing', () => {
    const errorGroups = [group({ sample: `${ESC}[0m \n`, signature: 'E_TIMEOUT' })];
    expect(renderProgress(running({ errorGroups }), 80, plain).at(-1)).toContain('E_TIMEOUT');
  });

  it('survives counts that do not add up', () => {
    const snapshot = running({ total: 10, counts: { DONE: 15, PROCESSING: -3, ERROR: -1 } });
    expect(renderProgress(snapshot, 80, plain)[1]).toContain('100.0%');
  });

  it('is never wider than the terminal, whatever the texts and numbers', () => {
    const text = fc.string({ unit: 'binary', maxLength: 300 });
    const count = fc.nat({ max: 1e9 });
    const status = fc.record({
      DONE: count,
      ERROR: count,
      NOT_FOUND: count,
      SKIPPED: count,
      PROCESSING: count,
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 20, max: 200 }),
        fc.boolean(),
        fc.option(count),
        status,
        fc.array(fc.record({ signature: text, sample: text, phase: text, count }), { maxLength: 7 }),
        text,
        (width, color, total, counts, errorGroups, name) => {
          const snapshot = running({ total, counts, errorGroups, pipeline: name, jobId: name, notice: name });
          for (const render of [renderProgress, renderSummary]) {
            for (const line of render(snapshot, width, { color })) {
              const visible = line.replace(/\p{Cc}\[\d+m/gu, '');
              expect(displayWidth(visible)).toBeLessThanOrEqual(width);
              expect(visible).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
            }
          }
          expect(displayWidth(renderPlainLine(snapshot, width))).toBeLessThanOrEqual(width);
          expect(renderPlainLine(snapshot)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
        },
      ),
    );
  });
});

describe('the summary', () => {
  it('shows counts with shares, duration, average rate and errors by group', () => {
    const snapshot = running({
      state: 'DONE',
      counts: { DONE: 97_790, NOT_FOUND: 1_900, ERROR: 310 },
      elapsedMs: 125_000,
    });
    expect(renderSummary(snapshot, 80, plain)).toEqual([
      'price-lookup   DONE   job 0199a7c2-77aa',
      '100,000 of 100,000 rows   took 2m 05s   800 rows/s on average',
      '  done       97,790   97.8%',
      '  not found   1,900    1.9%',
      '  failed        310    0.3%',
      'Errors by group (attempts, phase, example)',
      '  300 × lookup  HTTP 503 from prices.example',
      '   10 × parse   expected price to be a number, got "n/a"',
    ]);
  });
});

test('the display names the limit that determines the speed while the job runs', () => {
  const limitedBy = 'Slowed to 600/s by prices';
  expect(renderPlainLine(running({ limitedBy }))).toContain(`, ${limitedBy}`);
  expect(renderPlainLine(running({ limitedBy, state: 'DONE' }))).not.toContain('Slowed');
});

describe('a rerun', () => {
  it('shows the progress of its own rows, not of all rows of the job', () => {
    const counts = { DONE: 99_990, ERROR: 4, PENDING: 5, PROCESSING: 1, NOT_FOUND: 0 };
    const text = renderPlainLine(running({ rerun: { number: 2, ended: 9 }, counts }));
    expect(text).toContain('60.0% (run 2: 9 of 15 rows)');
    expect(
      renderProgress(running({ rerun: { number: 2, ended: 9 }, counts }), 80, plain).join('\n'),
    ).toContain('60.0%');
  });

  it('has a summary with the rate of its own rows and the counts of the whole job', () => {
    const counts = { DONE: 99_996, ERROR: 4, PENDING: 0, PROCESSING: 0, NOT_FOUND: 0 };
    const lines = renderSummary(
      running({ state: 'DONE', rerun: { number: 2, ended: 15 }, counts, elapsedMs: 3000 }),
      80,
      plain,
    );
    expect(lines.slice(1, 4)).toEqual([
      'run 2: 15 of 15 rows   took 3s   5.0 rows/s on average',
      'Whole job: 100,000 rows',
      expect.stringContaining('done'),
    ]);
  });
});

describe('on a terminal, the display', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('redraws in place and leaves one summary behind', () => {
    const stream = createStream({ columns: 80, rows: 24 });
    stream.write('$ rowmill run\r\n');
    const display = createProgressDisplay({ stream, isTty: true });
    for (let done = 0; done <= 50_000; done += 1000) {
      display.update(running({ counts: { DONE: done } }));
      vi.advanceTimersByTime(40);
    }
    const block = running({ counts: { DONE: 50_000 } });
    vi.advanceTimersByTime(200);
    expect(screenAfter(stream.text())).toEqual(['$ rowmill run', ...renderProgress(block, 79, plain), '']);
    const final = running({ state: 'DONE', counts: { DONE: 100_000 } });
    display.finish(final);
    expect(screenAfter(stream.text())).toEqual(['$ rowmill run', ...renderSummary(final, 79, plain), '']);
  });

  it('keeps lines of the worker above the block and the block intact', () => {
    const stream = createStream({ columns: 80, rows: 24 });
    const display = createProgressDisplay({ stream, isTty: true });
    const output = new WorkerOutput();
    output.showAbove((lines) => display.print(lines));
    output.write('before the first frame\n');
    const block = running();
    display.update(block);
    vi.advanceTimersByTime(1);
    output.write('{"msg":"lease rescued"}\n{"msg":');
    vi.advanceTimersByTime(500);
    output.write('"flush rolled back"}\n');
    const above = ['before the first frame', '{"msg":"lease rescued"}', '{"msg":"flush rolled back"}'];
    expect(screenAfter(stream.text())).toEqual([...above, ...renderProgress(block, 79, plain), '']);
    const final = running({ state: 'DONE', counts: { DONE: 100_000 } });
    display.finish(final);
    expect(screenAfter(stream.text())).toEqual([...above, ...renderSummary(final, 79, plain), '']);
  });

  it('draws at most ten frames a second, the last state included', () => {
    const stream = createStream({ columns: 80 });
    const display = createProgressDisplay({ stream, isTty: true });
    for (let ms = 0; ms < 999; ms += 1) {
      display.update(running({ counts: { DONE: ms } }));
      vi.advanceTimersByTime(1);
    }
    expect(stream.writes.length).toBeLessThanOrEqual(10);
    vi.advanceTimersByTime(100);
    expect(stream.writes.at(-1)).toContain('done 998');
  });

  it('leaves cursor and line wrap as they were after every single frame', () => {
    const stream = createStream({ columns: 80 });
    const display = createProgressDisplay({ stream, isTty: true });
    display.update(running());
    vi.advanceTimersByTime(1);
    display.finish(running({ state: 'FAILED' }));
    expect(stream.writes).toHaveLength(2);
    for (const frame of stream.writes) {
      expect(frame.lastIndexOf(`${ESC}[?25h`)).toBeGreaterThan(frame.lastIndexOf(`${ESC}[?25l`));
      expect(frame.lastIndexOf(`${ESC}[?7h`)).toBeGreaterThan(frame.lastIndexOf(`${ESC}[?7l`));
      expect(frame.endsWith(`${ESC}[?2026l`)).toBe(true);
    }
  });

  it('moves up over the rows into which a narrower terminal reflowed the block', () => {
    const stream = createStream({ columns: 81, rows: 40 });
    const display = createProgressDisplay({ stream, isTty: true });
    const snapshot = running({ errorGroups: [] });
    display.update(snapshot);
    vi.advanceTimersByTime(1);
    const widths = renderProgress(snapshot, 80, plain).map((line) => displayWidth(line));
    stream.columns = 40;
    stream.emit('resize');
    vi.advanceTimersByTime(100);
    const rows = widths.reduce((sum, width) => sum + Math.ceil(width / 40), 0);
    expect(stream.writes[1]).toContain(`\r${ESC}[${rows}A`);
    for (const line of screenAfter(stream.writes[1]!)) expect(displayWidth(line)).toBeLessThanOrEqual(39);
  });

  it('is never taller than the terminal', () => {
    const stream = createStream({ columns: 80, rows: 4 });
    createProgressDisplay({ stream, isTty: true }).update(running());
    vi.advanceTimersByTime(1);
    expect(screenAfter(stream.text())).toHaveLength(4);
  });

  it('assumes 80 by 24 where the terminal does not know its size', () => {
    const stream = createStream({ columns: 0, rows: 0 });
    createProgressDisplay({ stream, isTty: true }).update(running());
    vi.advanceTimersByTime(1);
    expect(screenAfter(stream.text())).toEqual([...renderProgress(running(), 79, plain), '']);
  });

  it('starts a new block after the process was stopped and continued', () => {
    const stream = createStream({ columns: 80 });
    const display = createProgressDisplay({ stream, isTty: true });
    display.update(running());
    vi.advanceTimersByTime(1000);
    display.update(running());
    process.emit('SIGCONT', 'SIGCONT');
    vi.advanceTimersByTime(1);
    expect(stream.writes[1]).not.toMatch(/\[\d+A/);
    display.finish(running());
  });

  it('uses colours if the stream has them, unless the option is given', () => {
    for (const [hasColors, color, expected] of [
      [true, undefined, true],
      [false, undefined, false],
      [true, false, false],
    ] as const) {
      const stream = createStream({ columns: 80, hasColors: () => hasColors });
      createProgressDisplay({ stream, isTty: true, ...(color === undefined ? {} : { color }) }).update(
        running(),
      );
      vi.advanceTimersByTime(1);
      expect(stream.text().includes(`${ESC}[32m`)).toBe(expected);
    }
  });

  it('writes nothing and keeps no listeners after finish', () => {
    const before = process.listenerCount('SIGCONT');
    const stream = createStream({ columns: 80 });
    const display = createProgressDisplay({ stream, isTty: true });
    display.update(running());
    display.finish(running({ state: 'DONE' }));
    const { length } = stream.writes;
    display.update(running());
    display.finish(running());
    stream.emit('resize');
    vi.advanceTimersByTime(1000);
    expect(stream.writes).toHaveLength(length);
    expect(stream.listenerCount('resize')).toBe(0);
    expect(process.listenerCount('SIGCONT')).toBe(before);
  });
});

describe('without a terminal, the display', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('writes one plain line at most every two seconds', () => {
    const stream = createStream({});
    const display = createProgressDisplay({ stream, isTty: false });
    for (let ms = 0; ms < 10_000; ms += 100) {
      display.update(running({ counts: { DONE: ms } }));
      vi.advanceTimersByTime(100);
    }
    expect(stream.writes.slice(0, 5)).toHaveLength(5);
    expect(stream.writes.length).toBeLessThanOrEqual(6);
    expect(stream.text()).not.toContain(ESC);
    expect(stream.writes[0]).toBe(
      'price-lookup RUNNING 0.0% (0 of 100,000 rows), done 0, failed 0, running 64, waiting for a retry 12, ' +
        'waiting for a worker 57,614, 812 rows/s over the last 52 s, ETA 1m 05s to 1m 20s, elapsed 52s\n',
    );
  });

  it('fits the width of a terminal that cannot redraw: what matters least is left out first', () => {
    const lineOn = (columns: number, changes: SnapshotChanges = {}): string => {
      const stream = createStream({ columns });
      createProgressDisplay({ stream, isTty: false }).update(running(changes));
      return stream.text().trimEnd();
    };
    const head = 'price-lookup RUNNING 42.3% (42,310 of 100,000 rows)';
    const counts = 'done 40,100, not found 1,900, failed 310';
    expect(lineOn(140)).toBe(`${head}, ${counts}, 812 rows/s over the last 52 s`);
    expect(lineOn(100)).toBe(`${head}, ${counts}`);
    expect(lineOn(80)).toBe(`${head}, done 40,100`);
    expect(lineOn(40)).toBe(`${head.slice(0, 38)}…`);
    expect(lineOn(80, { notice: 'no answer' })).toBe(`${head}, done 40,100 - no answer`);
  });

  it('stays silent while only the clock moves', () => {
    const stream = createStream({});
    const display = createProgressDisplay({ stream, isTty: false });
    for (let ms = 0; ms < 10_000; ms += 500) {
      display.update(running({ elapsedMs: ms, eta: { lowMs: 10_000 - ms, highMs: 12_000 - ms } }));
      vi.advanceTimersByTime(500);
    }
    expect(stream.writes).toHaveLength(1);
  });

  it('writes a state change immediately', () => {
    const stream = createStream({});
    const display = createProgressDisplay({ stream, isTty: false });
    display.update(running({ state: 'QUEUED' }));
    display.update(running({ state: 'RUNNING' }));
    display.update(running({ state: 'PAUSED', notice: 'paused by operator' }));
    expect(stream.writes.map((line) => line.split(' ')[1])).toEqual(['QUEUED', 'RUNNING', 'PAUSED']);
    expect(stream.writes[2]).toContain(' - paused by operator\n');
  });

  it('ends with a summary without escape codes, even if the stream has colours', () => {
    const stream = createStream({ hasColors: () => true });
    const display = createProgressDisplay({ stream, isTty: false });
    display.finish(running({ state: 'CANCELLED' }));
    expect(stream.text()).toMatch(/CANCELLED[\s\S]*took 52s[\s\S]*Errors by group/);
    expect(stream.text()).not.toContain(ESC);
  });
});

type SnapshotChanges = Partial<Omit<ProgressSnapshot, 'counts'>> & {
  counts?: Partial<ProgressSnapshot['counts']>;
};

function running(changes: SnapshotChanges = {}): ProgressSnapshot {
  const none = { DONE: 0, ERROR: 0, NOT_FOUND: 0, SKIPPED: 0, CANCELLED: 0, PENDING: 0, PROCESSING: 0 };
  const some = { DONE: 40_100, ERROR: 310, NOT_FOUND: 1_900, PENDING: 57_626, PROCESSING: 64 };
  return {
    jobId: '0199a7c2-77aa',
    pipeline: 'price-lookup',
    state: 'RUNNING',
    total: 100_000,
    ingested: 100_000,
    unfinished: rowsOf({ running: 64, retry: 12, worker: 57_614 }),
    itemsPerSecond: 812,
    rateWindowMs: 52_000,
    eta: { lowMs: 65_000, highMs: 80_000 },
    elapsedMs: 52_000,
    workers: 8,
    errorGroups: [
      group({ count: 10, phase: 'parse', sample: 'expected price to be a number, got "n/a"' }),
      group({ count: 300, phase: 'lookup', sample: 'HTTP 503 from prices.example' }),
    ],
    ...changes,
    counts: { ...none, ...(changes.counts ?? some) },
  };
}

function rowsOf(parts: Partial<UnfinishedRows>): UnfinishedRows {
  return { running: 0, queued: 0, rateLimit: 0, retry: 0, budget: 0, worker: 0, onHold: 0, ...parts };
}

function group(changes: Partial<ProgressSnapshot['errorGroups'][number]> = {}) {
  return { signature: 'signature', sample: 'sample', count: 1, phase: 'lookup', ...changes };
}

function createStream(properties: Partial<Pick<ProgressStream, 'columns' | 'rows' | 'hasColors'>>) {
  const writes: string[] = [];
  const fake = Object.assign(new EventEmitter(), properties, {
    writes,
    text: () => writes.join(''),
    write: (text: string) => writes.push(text) > 0,
  });
  return fake as typeof fake & ProgressStream;
}

/** Emulates what the display uses of a terminal: carriage return, line feed, cursor up, erase line and below. */
function screenAfter(output: string): string[] {
  const screen = [''];
  let row = 0;
  let column = 0;
  for (const [, up, erase, newline, back, char] of output.matchAll(
    /\p{Cc}\[(\d+)A|\p{Cc}\[([KJ])|(\n)|(\r)|\p{Cc}\[[?\d]+[hlm]|(.)/gu,
  )) {
    if (up) row = Math.max(0, row - Number(up));
    else if (erase) {
      screen[row] = screen[row]!.slice(0, column);
      if (erase === 'J') screen.length = row + 1;
    } else if (newline) {
      row += 1;
      screen[row] ??= '';
    } else if (back) column = 0;
    else if (char) {
      screen[row] = screen[row]!.slice(0, column).padEnd(column) + char + screen[row]!.slice(column + 1);
      column += 1;
    }
  }
  return screen;
}
