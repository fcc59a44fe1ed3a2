// Decides which rows an export includes, based on the row as people see it. SQL statements only narrow down the
// candidates.

import { nearestName } from '../errors/did-you-mean.ts';
import { errorSignature } from '../errors/error-signature.ts';
import { type ErrorGroupRef, MAX_ERROR_GROUPS } from './error-group-ref.ts';
import { cellText } from './export-columns.ts';
import type { ExportRow, RowStatus } from './export-row.ts';
import { ITEM_STATUSES } from '../items/outcome.ts';
import { RowmillError } from '../errors/rowmill-error.ts';
import type { SeqRanges } from '../items/seq-ranges.ts';

export interface ExportFilter {
  /** Rows with any of these statuses. */
  statuses?: readonly RowStatus[];
  /** Rows whose result comes from this phase, counted from 0. */
  phase?: number;
  /** Signature of an error group. */
  errorGroup?: string;
  /** Rows of any of these error groups. */
  errorGroups?: readonly ErrorGroupRef[];
  /**
   * Rows whose input values, result values or error contain this text. The match ignores case and is literal. Values
   * are compared as cells show them, nested ones as JSON. Column names are not searched.
   */
  search?: string;
  /** Sorted, disjoint and half-open. */
  seqs?: SeqRanges;
}

const MAX_SEARCH_LENGTH = 1000;
const STATUSES: readonly string[] = ['PENDING', ...ITEM_STATUSES];

type FilterError = 'EXPORT_INVALID' | 'REPROCESS_INVALID';

/** Throws if the filter is invalid. `code` depends on the operation that uses it. */
export function checkExportFilter(filter: ExportFilter, code: FilterError = 'EXPORT_INVALID'): void {
  const refuse = (expected: string, got: unknown, hint?: string): never => {
    const text = JSON.stringify(got) ?? String(got);
    throw new RowmillError(code, `expected ${expected}, got ${text.slice(0, 100)}`, hint ? { hint } : {});
  };
  const { statuses, phase, errorGroup, errorGroups, search, seqs } = filter;
  const known = ['statuses', 'phase', 'errorGroup', 'errorGroups', 'search', 'seqs'];
  for (const key of Object.keys(filter)) {
    if (!known.includes(key)) refuse(`a filter by ${known.join(', ')}`, key);
  }
  if (statuses !== undefined) {
    if (!Array.isArray(statuses) || statuses.length === 0)
      refuse('statuses to be a list with at least one status', statuses);
    for (const status of statuses) {
      if (!STATUSES.includes(status))
        refuse(`a status to be one of ${STATUSES.join(', ')}`, status, statusHint(String(status)));
    }
  }
  if (phase !== undefined && !isCount(phase)) refuse('phase to be a number from 0', phase);
  if (errorGroup !== undefined && typeof errorGroup !== 'string')
    refuse('errorGroup to be the signature of an error group', errorGroup);
  if (errorGroups !== undefined) checkGroups(errorGroups, refuse);
  if (search !== undefined && (typeof search !== 'string' || search.length > MAX_SEARCH_LENGTH)) {
    refuse(`search to be text of at most ${MAX_SEARCH_LENGTH} characters`, search);
  }
  if (seqs !== undefined) checkSeqs(seqs, refuse);
}

function checkGroups(groups: unknown, refuse: (expected: string, got: unknown) => never): void {
  if (!Array.isArray(groups) || groups.length === 0 || groups.length > MAX_ERROR_GROUPS)
    refuse(`errorGroups to be a list of 1 to ${MAX_ERROR_GROUPS} error groups`, groups);
  for (const group of groups as readonly unknown[]) {
    const { errorGroup, phase } = (group ?? {}) as Partial<ErrorGroupRef>;
    if (typeof errorGroup !== 'string' || (phase !== undefined && !isCount(phase)))
      refuse('an error group to have a signature, and a phase from 0', group);
  }
}

function statusHint(unknown: string): string | undefined {
  if (unknown.toUpperCase() === 'FAILED') return 'Failed rows have the status ERROR.';
  const near = nearestName(unknown, STATUSES);
  return near === null ? undefined : `Did you mean ${near}?`;
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

/** True if only rows with an error can match: those that are not DONE. */
export function selectsErrors({ errorGroup, errorGroups }: ExportFilter): boolean {
  return errorGroup !== undefined || errorGroups !== undefined;
}

/** The error class that all matching rows have; null if there may be several. A signature starts with its class. */
export function errorClassOf({ errorGroup, errorGroups = [] }: ExportFilter): string | null {
  const signatures = errorGroup === undefined ? errorGroups.map((group) => group.errorGroup) : [errorGroup];
  const [first, ...others] = new Set(signatures.map((signature) => signature.split(':')[0]!));
  return others.length > 0 ? null : (first ?? null);
}

/** Null if every row is included. */
export function rowFilter(filter: ExportFilter): ((row: ExportRow) => boolean) | null {
  const { statuses, phase, errorGroup, errorGroups, search } = filter;
  const tests: ((row: ExportRow) => boolean)[] = [];
  if (statuses !== undefined) tests.push((row) => statuses.includes(row.status));
  if (phase !== undefined) tests.push((row) => row.phase === phase);
  if (errorGroup !== undefined) {
    tests.push((row) => row.error !== null && errorSignature(row.errorClass ?? '', row.error) === errorGroup);
  }
  if (errorGroups !== undefined) {
    const wanted = new Set(errorGroups.map((group) => `${group.phase ?? ''} ${group.errorGroup}`));
    tests.push((row) => {
      if (row.error === null) return false;
      const signature = errorSignature(row.errorClass ?? '', row.error);
      return wanted.has(`${row.phase} ${signature}`) || wanted.has(` ${signature}`);
    });
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

// Characters that look the same in JSON text and in a cell. Quotes and backslashes are escaped there, and nested values
// have blanks after commas and colons. i and k are excluded, because two non-ASCII characters become i and k in lower case.
const PLAIN_RUN = /[\w @#$%&'()*+./;<=>?!|~-]{2,}/g;
// Found in texts only. A number may look different in JSON: 1.10, 0.0000001 is 1e-7 in a cell.
const IN_TEXT = /[a-df-hjl-z @_#$%&'()*/;<=>?!|~]|\d-\d/;
/** Exponents of numbers with fewer digits in JSON have at most two. */
const DIGITS = /\d{3,}/g;

/**
 * A lower-case ASCII part of the searched text that must occur in the JSON text of every matching row. Null if there is
 * none: then every row must be checked. Numbers with more than 15 digits are found as JSON writes them, without the rounding
 * of cells.
 */
export function searchHint(search: string): string | null {
  const runs = search
    .toLowerCase()
    .split(/[ik]/)
    .flatMap((part) => part.match(PLAIN_RUN) ?? []);
  return (
    longest(runs.filter((run) => IN_TEXT.test(run))) ??
    longest(runs.flatMap((run) => run.match(DIGITS) ?? []))
  );
}

function longest(texts: readonly string[]): string | null {
  return texts.reduce<string | null>((best, text) => (text.length > (best?.length ?? 0) ? text : best), null);
}
