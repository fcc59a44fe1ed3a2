// Writes everything that belongs to one owner to a folder: owner.json, JSON lines of events, counters and audit entries,
// and for each job its description, its rows with results, its rejected rows and its file.
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { writeExportFile } from '../../export/write-file.ts';
import { retryingReads } from '../../platform/retry-passing.ts';
import { readSummary } from '../../store/views/jobs/read-progress.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import { listOwnerJobs, OWNER_LISTS, readOwner, readOwnerList } from '../../store/views/owners/owner-data.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

const MAX_JOBS = 1_000_000;
const PAGE = 5000;

/** Returns the number of jobs and rows. The folder must be empty or missing. */
export async function exportOwner(
  context: EngineContext,
  ownerId: string,
  folder: string,
): Promise<{ jobs: number; rows: number }> {
  const subject = `owner ${ownerId}`;
  await recordAudit(context.db, context, { action: 'owner.export', subject, detail: { ownerId } });
  const db = retryingReads(context.db);
  const jobs = await listOwnerJobs(db, ownerId, MAX_JOBS);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'owner.json'), toJson({ ownerId, ...(await readOwner(db, ownerId)) }));
  for (const [name, statement] of Object.entries(OWNER_LISTS))
    await pipeline(
      async function* () {
        for (let afterId = 0; ; ) {
          const page = await readOwnerList(db, statement, { ownerId, afterId, limit: PAGE });
          for (const { entry } of page) yield `${JSON.stringify(entry)}\n`;
          if (page.length < PAGE) return;
          afterId = page.at(-1)!.id;
        }
      },
      createWriteStream(join(folder, `${name}.jsonl`)),
    );
  let rows = 0;
  for (const { jobId } of jobs) rows += await exportJobOfOwner(context, jobId, join(folder, 'jobs', jobId));
  return { jobs: jobs.length, rows };
}

async function exportJobOfOwner(context: EngineContext, jobId: string, folder: string): Promise<number> {
  const { db, blobs, settings } = context;
  const job = await readJob(db, jobId);
  // Deleted since the list was read.
  if (!job) return 0;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const summary = await readSummary(db, jobId, job.generation);
  await writeFile(join(folder, 'job.json'), toJson({ ...job, summary }));
  const request = { jobId, format: 'jsonl' as const, pageRows: settings.exportPageRows };
  const results = await writeExportFile(db, request, join(folder, 'rows.jsonl'));
  if ((job.ingestReport.rejected ?? 0) > 0)
    await writeExportFile(db, { ...request, kind: 'rejected' }, join(folder, 'rejected.jsonl'));
  // The file may have been collected after an interrupted ingest.
  if (job.source !== null && (await blobs.head(job.source.blobKey)) !== null)
    await pipeline(await blobs.get(job.source.blobKey), createWriteStream(join(folder, 'file')));
  return results.rows;
}

function toJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
