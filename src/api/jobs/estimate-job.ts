// The expected cost and speed of a job of a previewed file.
import { estimateRun, type RunEstimate } from '../../core/jobs/estimate-run.ts';
import type { PreviewedRow } from '../../ingest/previewed-rows.ts';
import { checkInput } from '../../pipeline/input-schema.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { Executor } from '../../platform/database.ts';
import { listRecentRuns } from '../../store/views/jobs/list-recent-runs.ts';
import { estimateOf } from '../../worker/admission/item-charge.ts';

export async function estimateJob(
  db: Executor,
  pipeline: Pipeline,
  owners: readonly string[] | null,
  rows: readonly PreviewedRow[],
): Promise<RunEstimate> {
  const recent = await listRecentRuns(db, pipeline.name, owners);
  return estimateRun(recent, await declaredCosts(pipeline, rows));
}

/** Costs of the paid phases for each row that would run; null if no phase is paid. */
async function declaredCosts(pipeline: Pipeline, rows: readonly PreviewedRow[]): Promise<number[][] | null> {
  const paid = pipeline.phases.filter(({ cost }) => cost !== undefined);
  if (paid.length === 0) return null;
  const costs: number[][] = [];
  for (const { input, problems } of rows) {
    if (input === null || problems.length > 0) continue;
    const checked = pipeline.input ? await checkInput(pipeline.input, input) : { ok: true as const, input };
    if (!checked.ok) continue;
    costs.push(paid.map(({ cost }) => estimateOf(cost, () => checked.input).estimate ?? 0));
  }
  return costs;
}
