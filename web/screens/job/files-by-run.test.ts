import { describe, expect, it } from 'vitest';
import type { JobFile } from '../../lib/job.ts';
import { contentWords, filesByRun } from './files-by-run.ts';

const file = (kind: JobFile['kind'], name: string, generation: number | null, minute: number): JobFile => ({
  fileId: `${generation}-${name}`,
  kind,
  name,
  downloadName: name,
  bytes: 1,
  sha256: null,
  generation,
  state: 'READY',
  error: null,
  rows: null,
  createdAt: `2026-01-01T00:0${minute}:00.000Z`,
  expiresAt: null,
});

describe('files of a job', () => {
  it('are grouped by run, the newest results first and earlier ones folded', () => {
    const files = [
      file('input', 'a.csv', null, 0),
      file('output', 'results.csv', 1, 1),
      file('output', 'results.csv', 2, 2),
      file('output', 'unsuccessful.csv', 2, 2),
      file('export', 'a-results.xlsx', 2, 3),
    ];
    expect(filesByRun(files, 2).map((group) => [group.title, group.isEarlier, group.files.length])).toEqual([
      ['Results after run 2 (newest)', false, 2],
      ['Generated files', false, 1],
      ['Input', false, 1],
      ['Results after run 1 (earlier)', true, 1],
    ]);
  });

  it('need no run while there is only one', () => {
    expect(filesByRun([file('output', 'results.csv', 1, 1)], 1).map(({ title }) => title)).toEqual([
      'Results',
    ]);
  });

  it('say what they contain', () => {
    expect(contentWords(file('output', 'unsuccessful.csv', 1, 1))).toContain('to correct and upload again');
    expect(contentWords(file('input', 'unsuccessful.csv', null, 1))).toBe('');
  });
});
