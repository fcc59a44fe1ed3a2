import type { ExportRow, RowStatus } from '../../../core/files/export-row.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { resultsBetween } from '../results/stored-results.ts';
import { PAGE_BYTES, type PageFields, RESULT_BYTES } from './export-row-columns.ts';

// A page of a job with one generation and without filters: the items and the results of a window of seqs, each read
// by one scan of its primary key, are merged here. A lookup of each result per item, as in export-page, costs the
// server half as much again (5.3 against 3.5 µs per row), and a join of two windows would depend on the planner's
// estimates. Each statement returns one long text, with a line per row and tabs between fields, neither of which
// occur in JSON text: reading thousands of rows from the wire costs the client more than splitting a text.
const ITEMS: Statement = {
  name: 'export-whole-items',
  text: `
    select string_agg(p.seq || E'\\t' || p.input::text, E'\\n' order by p.seq)
    from (
      select i.seq, i.input,
        sum(i.input_bytes) over (order by i.seq rows between unbounded preceding and 1 preceding) as bytes_before
      from items i
      where i.job_id = $1 and i.seq >= $2 and i.seq < $3
    ) p
    where p.bytes_before is null or p.bytes_before < ${PAGE_BYTES}`,
};

const REST = `E'\\t' || p.status || E'\\t' || p.attempt || E'\\t' || coalesce(to_json(p.error_class)::text, 'null')
        || E'\\t' || coalesce(to_json(p.error)::text, 'null')`;

// The most common case is not sent: DONE at the first attempt. The second value is the seq that filled the page;
// results after it may be missing.
const resultsOf = (rest: string): string => `
    select string_agg(p.seq || E'\\t' || coalesce(p.result::text, '') || ${rest}, E'\\n' order by p.seq),
      max(p.seq) filter (where p.bytes_before + p.bytes >= ${PAGE_BYTES})
    from (
      select r.*, coalesce(sum(r.bytes) over (order by r.seq rows between unbounded preceding and 1 preceding), 0)
        as bytes_before
      from (
        select r.seq, r.status, r.attempt, r.error_class, r.error, r.result, r.phase, r.finished_at,
          ${RESULT_BYTES} as bytes
        from ${resultsBetween('$2', '$3')} r
        where r.generation = 1
      ) r
    ) p
    where p.bytes_before < ${PAGE_BYTES}`;
const RESULTS: Record<PageFields, Statement> = {
  all: {
    name: 'export-whole-results',
    text: resultsOf(`${REST} || E'\\t' || p.phase || E'\\t' || date_part('epoch', p.finished_at) * 1000`),
  },
  cells: {
    name: 'export-whole-result-cells',
    text: resultsOf(
      `case when p.status = 'DONE' and p.attempt = 1 and p.error_class is null and p.error is null then '' else ${REST} end`,
    ),
  },
};

export async function exportWholePage(
  db: Executor,
  jobId: string,
  fromSeq: number,
  toSeq: number,
  fields: PageFields,
): Promise<ExportRow[]> {
  const [[items], [results]] = await Promise.all([
    db.runArrays(ITEMS, [jobId, fromSeq, toSeq]),
    db.runArrays(RESULTS[fields], [jobId, fromSeq, toSeq]),
  ]);
  const lastKnown = (results![1] as number | null) ?? toSeq;
  const ended = linesOf(results![0]);
  const rows: ExportRow[] = [];
  let next = 0;
  let nextSeq = ended.length === 0 ? toSeq : seqOf(ended[0]!);
  for (const line of linesOf(items![0])) {
    const tab = line.indexOf('\t');
    const seq = Number(line.slice(0, tab));
    if (seq > lastKnown) break;
    const row = waiting(seq, line.slice(tab + 1));
    while (nextSeq < seq) {
      next += 1;
      nextSeq = next < ended.length ? seqOf(ended[next]!) : toSeq;
    }
    if (nextSeq === seq) addResult(row, ended[next]!);
    rows.push(row);
  }
  return rows;
}

function linesOf(text: unknown): string[] {
  return text === null ? [] : (text as string).split('\n');
}

function seqOf(line: string): number {
  return Number(line.slice(0, line.indexOf('\t')));
}

function addResult(row: ExportRow, line: string): void {
  const start = line.indexOf('\t') + 1;
  const end = line.indexOf('\t', start);
  const resultJson = end === -1 ? line.slice(start) : line.slice(start, end);
  row.resultJson = resultJson === '' ? null : resultJson;
  row.status = 'DONE';
  row.attempts = 1;
  if (end === -1) return;
  const [status, attempts, errorClass, error, phase, finishedAtMs] = line.slice(end + 1).split('\t');
  row.status = status as RowStatus;
  row.attempts = Number(attempts);
  row.errorClass = JSON.parse(errorClass!) as string | null;
  row.error = JSON.parse(error!) as string | null;
  if (phase === undefined) return;
  row.phase = Number(phase);
  row.finishedAtMs = Number(finishedAtMs);
}

function waiting(seq: number, inputJson: string): ExportRow {
  return {
    seq,
    inputJson,
    status: 'PENDING',
    attempts: null,
    errorClass: null,
    error: null,
    resultJson: null,
    phase: null,
    finishedAtMs: null,
  };
}
