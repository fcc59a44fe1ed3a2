// The output files of a finished generation: results in the formats of the job, unsuccessful rows to correct and submit
// again, rejected rows, and summary.json. Keys contain job, generation and attempt, so two processes that both write
// them never use the same key. The summary names the valid ones.
import type { GenerationDiff } from '../../core/jobs/generation-diff.ts';
import { outcomeOf } from '../../core/jobs/job-outcome.ts';
import { ITEM_STATUSES, type ItemStatus } from '../../core/items/outcome.ts';
import {
  formatOfOutput,
  type OutputFile,
  type OutputFormat,
  outputLike,
} from '../../core/files/output-format.ts';
import { type ExportKind, exportJob } from '../../export/export-job.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { draftSummary, type SummaryDraft } from '../../store/commands/jobs/insert-summary.ts';
import { type Job, readJob } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';

export interface Ending {
  jobId: string;
  generation: number;
  attempt: number;
  state: 'DONE' | 'CANCELLED' | 'FAILED';
  /** Null for the first generation. */
  diff: GenerationDiff | null;
}

export async function writeOutputFiles(
  context: EngineContext,
  ending: Ending,
  /** Called after each file. */
  wrote: (count: number) => Promise<void>,
  signal: AbortSignal,
): Promise<OutputFile[]> {
  const { jobId, generation, state } = ending;
  const job = await readJob(context.db, jobId);
  if (!job || job.outputs.length === 0) return [];
  const draft = await draftSummary(context.db, jobId, generation, state);
  const files: OutputFile[] = [];
  const add = async (kind: ExportKind, format: OutputFormat, status?: ItemStatus): Promise<void> => {
    files.push(await writeExport(context, ending, { kind, format, status }, signal));
    await wrote(files.length);
    faultPoint('finalize.after_file');
  };
  const outputs = [...new Set(job.outputs)].map(formatOfOutput);
  for (const { format, isByStatus } of outputs) {
    if (!isByStatus) await add('results', format);
    else
      for (const status of ITEM_STATUSES)
        if ((draft.counts[status] ?? 0) > 0) await add('results', format, status);
  }
  const unsuccessful = (draft.counts.ERROR ?? 0) + (draft.counts.NOT_FOUND ?? 0);
  // In the original format, so that they can be corrected and submitted again.
  if (unsuccessful > 0)
    await add('unsuccessful', job.source ? outputLike(job.source.detected.format) : outputs[0]!.format);
  if ((job.ingestReport.rejected ?? 0) > 0) await add('rejected', 'csv');
  const summary = summaryText(job, ending, draft, files);
  files.push(
    await write(context, ending, 'summary.json', 'application/json', [Buffer.from(summary)], signal),
  );
  return files;
}

async function writeExport(
  context: EngineContext,
  ending: Ending,
  { kind, format, status }: { kind: ExportKind; format: OutputFormat; status: ItemStatus | undefined },
  signal: AbortSignal,
): Promise<OutputFile> {
  const stream = exportJob(context.db, {
    jobId: ending.jobId,
    generation: ending.generation,
    kind,
    format,
    ...(status && { filter: { statuses: [status] } }),
    pageRows: context.settings.exportPageRows,
  });
  const file = await write(
    context,
    ending,
    `${status?.toLowerCase() ?? kind}.${format}`,
    stream.contentType,
    stream,
    signal,
  );
  return { ...file, rows: stream.rowCount };
}

async function write(
  { blobs }: EngineContext,
  ending: Ending,
  name: string,
  contentType: string,
  bytes: AsyncIterable<Buffer> | Buffer[],
  signal: AbortSignal,
): Promise<OutputFile> {
  const stored = await blobs.put(`${prefixOf(ending)}a${ending.attempt}/${name}`, iterate(bytes), { signal });
  await blobs.verify(stored);
  return { name, key: stored.key, contentType, bytes: stored.bytes, sha256: stored.sha256, rows: null };
}

async function* iterate(bytes: AsyncIterable<Buffer> | Buffer[]): AsyncGenerator<Buffer> {
  yield* bytes;
}

function summaryText(job: Job, ending: Ending, draft: SummaryDraft, files: OutputFile[]): string {
  const { jobId, pipeline, name, source, ingestReport, inputChecksum, costUnit } = job;
  const { generation, state, diff } = ending;
  const input = source && {
    name: source.name,
    bytes: source.bytes,
    sha256: source.sha256,
    format: source.detected.format,
  };
  const content = {
    jobId,
    generation,
    pipeline,
    name,
    state,
    outcome: outcomeOf(state, draft.counts),
    ...draft,
    costUnit,
    ...(diff && { diff }),
    input,
    ingest: ingestReport,
    inputChecksum,
    files,
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

function prefixOf({ jobId, generation }: Pick<Ending, 'jobId' | 'generation'>): string {
  return `outputs/${jobId}/g${generation}/`;
}

/** Deletes files of earlier attempts. The blob collector deletes any that this misses. */
export async function deleteOtherAttempts(
  { blobs }: EngineContext,
  ending: Pick<Ending, 'jobId' | 'generation' | 'attempt'>,
): Promise<void> {
  try {
    const kept = `${prefixOf(ending)}a${ending.attempt}/`;
    for await (const { key } of blobs.list(prefixOf(ending)))
      if (!key.startsWith(kept)) await blobs.delete(key);
  } catch {
    // The job is finished either way.
  }
}
