// Skips the rows of an error group in a finished job: they become SKIPPED with a reason, in a new generation and
// without running. Their old results stay, and they can be reprocessed like any others.
import type { ItemStatus } from '../../core/items/outcome.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { insertResultColumns } from '../../store/commands/results/insert-result-columns.ts';
import {
  insertGeneration,
  type OpenedGeneration,
  openGeneration,
} from '../../store/commands/jobs/open-generation.ts';
import { planByKey } from '../../store/commands/spans/plan-by-key.ts';
import { type SkippedItem, skipItems } from '../../store/commands/spans/skip-items.ts';
import { takeBackContributions } from '../../store/commands/counters/take-back-contributions.ts';
import { findGeneration } from '../../store/views/jobs/find-generation.ts';
import { hasContributions } from '../../store/views/counters/has-contributions.ts';
import { awaitFinished } from '../jobs/await-finished.ts';
import { chooseSeqs } from './choose-seqs.ts';
import { CounterRangeError, explainRange } from '../counters/counter-range-error.ts';
import type { EngineContext } from '../engine-context.ts';
import { BEHIND_RESULTS } from '../flush/flush-contents.ts';
import { recordChange } from '../jobs/record-change.ts';
import { checkedGroups, type ErrorGroupSelection, failedRowsOf } from './error-group-selection.ts';
import { changedMeanwhile, endGivenUp } from './reprocess-job.ts';

const MAX_REASON_LENGTH = 1000;
/** Items per statement; 20 us each, as measured. */
const ITEMS_AT_ONCE = 100_000;
const FAILED: readonly ItemStatus[] = ['ERROR', 'NOT_FOUND'];

export interface SkipErrorGroupRequest extends ErrorGroupSelection {
  reason: string;
  ifGeneration?: number;
}

/** The generation has no waiting items: `finalizeIfComplete` completes it, here or in a sweep. */
export async function skipErrorGroup(
  context: EngineContext,
  jobId: string,
  request: SkipErrorGroupRequest,
): Promise<OpenedGeneration> {
  const { ifGeneration } = request;
  const groups = checkedGroups(request);
  const reason = toStorableText(request.reason.trim(), MAX_REASON_LENGTH);
  if (reason === '') throw new RowmillError('REPROCESS_INVALID', 'expected a reason for skipping rows');
  const job = await awaitFinished(context, jobId, ifGeneration);
  const seqs = (await chooseSeqs(context, job, failedRowsOf(groups))) ?? [];
  const generation = job.generation + 1;
  const requestId = newId();
  const selection = { ...groups, skipped: reason };
  const report = await retryPassing(() =>
    context.db.transaction(
      async (tx) => {
        await planByKey(tx);
        if (!(await openGeneration(tx, job, null))) {
          const opened = await findGeneration(tx, jobId, generation, requestId);
          if (opened) return opened;
          throw changedMeanwhile(jobId);
        }
        await endGivenUp(tx, job);
        const skipped: SkippedItem[] = [];
        const resultJson = JSON.stringify({ reason });
        for (let at = 0; at < seqs.length; at += ITEMS_AT_ONCE) {
          const part = seqs.slice(at, at + ITEMS_AT_ONCE);
          const request = { jobId, generation, seqs: part, statuses: FAILED, resultJson };
          for (const item of await skipItems(tx, request)) skipped.push(item);
        }
        const selected = skipped.length;
        if (selected === 0)
          throw new RowmillError(
            'NOTHING_TO_REPROCESS',
            `job ${jobId} has no failed rows in this error group`,
          );
        const column = { name: 'reason', position: BEHIND_RESULTS };
        await insertResultColumns(tx, jobId, generation, [column], context.settings.resultMaxColumns);
        // Failed rows have no contributions from their phase on, unless a cancelled generation had advanced further.
        if (await hasContributions(tx, jobId)) {
          const ended = skipped.map((item) => ({ jobId, generation, ...item }));
          await takeBackContributions(tx, ended).catch(explainRange).catch(refuseDrift);
        }
        const opened = { generation, selected, leftOut: { permanent: 0, exhausted: 0 } };
        await insertGeneration(tx, { jobId, requestId, selection, ...opened });
        const detail = { generation, selected, skipped: reason };
        await recordChange(tx, context, { jobId, kind: 'job.reprocessed', action: 'job.skip', detail });
        return opened;
      },
      () => faultPoint('reprocess.before_commit'),
    ),
  );
  faultPoint('reprocess.after_commit');
  context.events.emit('job.reopened', { jobId, ...report });
  return report;
}

/** Nothing has changed yet: the request can be repeated after the counters are repaired. */
function refuseDrift(cause: unknown): never {
  if (!(cause instanceof CounterRangeError)) throw cause;
  const message = 'a counter is smaller than the earlier contributions of the rows to skip';
  throw new RowmillError('COUNTER_DRIFTED', message, { cause });
}
