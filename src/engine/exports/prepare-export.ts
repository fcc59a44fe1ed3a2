// Requests an export in the background. Any process that runs run-exports.ts writes it.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { type ExportRequest, exportJob } from '../../export/export-job.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { insertExport } from '../../store/commands/files/change-exports.ts';
import { lockOwner } from '../../store/commands/limits/lock-owner.ts';
import { countPreparingExports } from '../../store/views/exports/list-exports.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

/** The stored part of a request; the rest belongs to the run. */
export type BackgroundExport = Pick<
  ExportRequest,
  'format' | 'kind' | 'generation' | 'filter' | 'columns' | 'raw' | 'bom' | 'delimiter'
>;

/** Returns the id of the export. Invalid requests are refused here, not later. */
export async function prepareExport(
  context: EngineContext,
  { jobId, ownerId }: Pick<Job, 'jobId' | 'ownerId'>,
  request: BackgroundExport,
): Promise<string> {
  const { db, settings } = context;
  const stream = exportJob(db, { ...request, jobId, pageRows: settings.exportPageRows });
  const { generation, fileName: name } = await stream.prepare();
  const exportId = newId();
  const { contentType } = stream;
  const stored = { ...request, generation };
  await retryPassing(() =>
    db.transaction(async (tx) => {
      await lockOwner(tx, ownerId);
      if (
        !(await insertExport(tx, {
          exportId,
          jobId,
          ownerId,
          request: stored,
          name,
          contentType,
          generation,
        }))
      )
        return;
      if ((await countPreparingExports(tx, ownerId)) > settings.exportsAtOnce)
        throw new RowmillError(
          'TOO_MANY_EXPORTS',
          `expected at most ${settings.exportsAtOnce} exports of ${ownerId} to be prepared concurrently (exportsAtOnce)`,
          { hint: 'Try again when one has finished.' },
        );
      await recordAudit(tx, context, {
        action: 'job.export_prepare',
        subject: `job ${jobId}`,
        detail: { exportId, ...stored },
      });
    }),
  );
  return exportId;
}
