import { describe, expect, it } from 'vitest';
import { downloadName } from './download-name.ts';

const job = (source: string | null, name = '') => ({
  jobId: '0199a7c2-0000-7000-8000-000000000000',
  name,
  generation: 2,
  source: source === null ? null : { name: source },
});

describe('the name of a download', () => {
  it.each([
    ['products.csv', 'products-results.csv'],
    ['Preise v1.2.xlsx', 'Preise v1.2-results.csv'],
    ['rows.jsonl.gz', 'rows-results.csv'],
    ['2026/May/größe.tsv', 'größe-results.csv'],
    ['..\\..\\boot.csv', 'boot-results.csv'],
    ['...', 'rowmill-0199a7c2-results.csv'],
    ['a:b?.csv', 'a_b_-results.csv'],
    ['gpj\u202e.csv', 'gpj_-results.csv'],
  ])('comes from the input file: %s', (given, expected) => {
    expect(downloadName(job(given), { part: 'results', extension: 'csv' })).toBe(expected);
  });

  it('comes from the job if it has no file, and from its id if it has no name', () => {
    const file = { part: 'failed', extension: 'xlsx' };
    expect(downloadName(job(null, 'Nightly run'), file)).toBe('Nightly run-failed.xlsx');
    expect(downloadName(job(null), file)).toBe('rowmill-0199a7c2-failed.xlsx');
  });

  it('is bounded, and cuts no character in half', () => {
    const name = downloadName(job(`${'😀'.repeat(500)}.csv`), { part: 'results', extension: 'csv' });
    expect(name).toBe(`${'😀'.repeat(100)}-results.csv`);
  });

  it('names an earlier run and a filter, and neither for the newest results', () => {
    const file = { part: 'results', extension: 'csv' };
    expect(downloadName(job('a.csv'), { ...file, generation: 1 })).toBe('a-results-run-1.csv');
    expect(downloadName(job('a.csv'), { ...file, generation: 2 })).toBe('a-results.csv');
    expect(downloadName(job('a.csv'), { ...file, isFiltered: true })).toBe('a-results-filtered.csv');
  });
});
