// Which rows an export takes. The decision is made here, on the row as a person sees it; statements only narrow down
// what is looked at.

import { errorSignature } from '../errors/error-signature.ts';
import { cellText } from './export-columns.ts';
import type { ExportRow, RowStatus } from './export-row.ts';
import { ITEM_STATUSES } from '../items/outcome.ts';
import { RowmillError } from '../errors/rowmill-error.ts';
import type { SeqRanges } from '../items/seq-ranges.ts';

export interface ExportFilter {
  /** Rows of any of these. */
  statuses?: readonly RowStatus[];
  /** Rows whose result comes from this phase, from 0. */
  phase?: number;
  /** Signature of an error group. */
  errorGroup?: string;
  /**
   * Rows where a value of the input or the result, or the error, holds this text. Case does not matter; no character has
   * a meaning of its own. Values are texts as cells show them, nested ones as JSON; names of columns are not searched.
   */
  search?: string;
  /** Sorted, disjoint and half-open. */
  seqs?: SeqRanges;
}

const MAX_SEARCH_LENGTH = 1000;
const STATUSES: readonly string[] = ['PENDING', ...ITEM_STATUSES];

type FilterError = 'EXPORT_INVALID' | 'REPROCESS_INVALID';

/** Refuses what no row could be asked; the code says who asked. */
export function checkExportFilter(filter: ExportFilter, code: FilterError = 'EXPORT_INVALID'): void {
  const refuse = (expected: string, got: unknown): never => {
    const text = JSON.stringify(got) ?? String(got);
    throw new RowmillError(code, `expected ${expected}, got ${text.slice(0, 100)}`);
  };
  const { statuses, phase, errorGroup, search, seqs } = filter;
  const known = ['statuses', 'phase', 'errorGroup', 'search', 'seqs'];
  for (const key of Object.keys(filter)) {
    if (!known.includes(key)) refuse(`a filter by ${known.join(', ')}`, key);
  }
  if (statuses !== undefined) {
    if (!Array.isArray(statuses) || statuses.length === 0)
      refuse('statuses to be a list of at least one', statuses);
    for (const status of statuses) {
      if (!STATUSES.includes(status)) refuse(`a status to be one of ${STATUSES.join(', ')}`, status);
    }
  }
  if (phase !== undefined && !isCount(phase)) refuse('phase to be a number from 0', phase);
  if (errorGroup !== undefined && typeof errorGroup !== 'string')
    refuse('errorGroup to be a signature', errorGroup);
  if (search !== undefined && (typeof search !== 'string' || search.length > MAX_SEARCH_LENGTH)) {
    refuse(`search to be a text of at most ${MAX_SEARCH_LENGTH} characters`, search);
  }
  if (seqs !== undefined) checkSeqs(seqs, refuse);
}

function checkSeqs(seqs: SeqRanges, refuse: (expected: string, got: unknown) => never): void {
  let end = 0;
  for (const [from, to] of seqs) {
    if (!isCount(from) || !isCount(to) || from < end || to <= from) {
      refuse('seqs to be sorted, disjoint ranges [from, to)', [from, to]);
    }
    end = to;
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Null when every row is taken. */
export function rowFilter(filter: ExportFilter): ((row: ExportRow) => boolean) | null {
  const { statuses, phase, errorGroup, search } = filter;
  const tests: ((row: ExportRow) => boolean)[] = [];
  if (statuses !== undefined) tests.push((row) => statuses.includes(row.status));
  if (phase !== undefined) tests.push((row) => row.phase === phase);
  if (errorGroup !== undefined) {
    tests.push((row) => row.error !== null && errorSignature(row.errorClass ?? '', row.error) === errorGroup);
  }
  if (search !== undefined && search !== '') {
    const wanted = search.toLowerCase();
    tests.push((row) => rowHolds(row, wanted));
  }
  return tests.length === 0 ? null : (row) => tests.every((test) => test(row));
}

function rowHolds(row: ExportRow, wanted: string): boolean {
  return (
    row.error?.toLowerCase().includes(wanted) === true ||
    valueHolds(JSON.parse(row.inputJson), wanted) ||
    (row.resultJson !== null && valueHolds(JSON.parse(row.resultJson), wanted))
  );
}

function valueHolds(value: unknown, wanted: string): boolean {
  const isRecord = value !== null && typeof value === 'object' && !Array.isArray(value);
  const values = isRecord ? Object.values(value) : [value];
  return values.some((each) => cellText(each).toLowerCase().includes(wanted));
}

// Letters and blanks that stand in JSON text as they stand in a cell. Digits and punctuation do not (1.10, \", `: `);
// i and k are what two characters outside of ASCII become in lower case; a letter alone may be the e of 1e+21.
const PLAIN_RUN = /[a-hjl-z ]{2,}/g;

/**
 * A piece of the searched text that every row it occurs in holds somewhere in its JSON text, in lower case ASCII. Null
 * when there is none: then the rows themselves have to be looked at.
 */
export function searchHint(search: string): string | null {
  let longest: string | null = null;
  for (const [run] of search.toLowerCase().matchAll(PLAIN_RUN)) {
    if (longest === null || run.length > longest.length) longest = run;
  }
  return longest;
}
