// Compares a finished batch with what the generator knows: every row, the files in the blob store, and the summary.
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Rowmill } from 'rowmill';
import { ENDS, type KnownTransaction } from './generate-transactions.ts';

export interface BatchCheck {
  /** Descriptions of all problems; empty if everything is right. */
  problems: string[];
  counts: Record<string, number>;
  /** Number of rows by the process that screened them. */
  workers: Map<number, number>;
}

export async function checkBatch(
  rowmill: Rowmill,
  jobId: string,
  known: readonly KnownTransaction[],
  /** True if the unknown accounts have been opened, so that later generations find them. */
  hasNewAccounts = false,
): Promise<BatchCheck> {
  const problems: string[] = [];
  const counts: Record<string, number> = {};
  const workers = new Map<number, number>();
  let at = 0;
  for await (const { seq, input, status, result } of rowmill.results(jobId)) {
    const expected = known[seq];
    const { decision, worker } = (result ?? {}) as { decision?: string; worker?: number };
    const end = expected && ENDS[expected.fate === 'unknown' && hasNewAccounts ? 'clear' : expected.fate];
    if (!expected || !end || input.transaction_id !== expected.row.transaction_id || seq !== at)
      problems.push(`row ${seq} is ${String(input.transaction_id)}`);
    else if (status !== end.status || decision !== end.decision)
      problems.push(`row ${seq} (${expected.fate}) ended as ${status} ${decision ?? ''}`);
    counts[status] = (counts[status] ?? 0) + 1;
    if (worker !== undefined) workers.set(worker, (workers.get(worker) ?? 0) + 1);
    at += 1;
  }
  if (at !== known.length) problems.push(`${at} rows, expected ${known.length}`);

  const summary = await rowmill.summary(jobId);
  for (const [status, count] of Object.entries(summary?.counts ?? {}))
    if (count !== (counts[status] ?? 0)) problems.push(`the summary has ${count} rows ${status}`);
  for (const file of summary?.files ?? []) {
    const bytes = await readAll(await rowmill.openFile(file.key));
    if (createHash('sha256').update(bytes).digest('hex') !== file.sha256)
      problems.push(`${file.name} is damaged`);
    const byName: Record<string, number | null | undefined> = {
      'results.csv': at,
      'unsuccessful.csv': (counts.ERROR ?? 0) + (counts.NOT_FOUND ?? 0),
      'summary.json': null,
    };
    const expected =
      file.name in byName ? byName[file.name] : counts[file.name.replace('.csv', '').toUpperCase()];
    if (expected !== file.rows) problems.push(`${file.name} has ${file.rows} rows, expected ${expected}`);
  }
  return { problems, counts, workers };
}

export async function readAll(stream: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
