// A complete claim: returns a lease with everything that its items need. Nothing is filled in later.
import { formatRanges, rangesOf } from '../../core/items/seq-ranges.ts';
import type { WorkOwner } from '../../core/limits/owner-limits.ts';
import type { WorkBudget } from '../../core/limits/work-budget.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { admitJob } from '../../store/commands/jobs/admit-job.ts';
import { startJob } from '../../store/commands/jobs/start-job.ts';
import { type ClaimedSpan, claimItems } from '../../store/commands/spans/claim-items.ts';
import type { ClaimedItem } from '../../store/commands/spans/claimed-inputs.ts';
import { releaseAllBut } from '../../store/commands/spans/release-items.ts';
import { readItemCosts } from '../../store/views/items/read-item-costs.ts';
import type { ClaimableWork } from '../../store/views/spans/find-claimable.ts';
import type { EngineContext } from '../engine-context.ts';
import type { JobParams } from './job-params.ts';
import { releaseLease } from './release-items.ts';

export type { ClaimedItem };

export interface Claim extends ClaimedSpan {
  owner: WorkOwner;
  /** Null if no budget limits the cost of its calls. */
  budget: WorkBudget | null;
  /** Earlier cost of its items, by seq; only if each item has a budget. */
  itemCosts: ReadonlyMap<number, number> | null;
  params: Readonly<Record<string, unknown>>;
}

export interface ClaimContext {
  /** Connections reserved for claims. */
  claims: EngineContext;
  control: EngineContext;
  workerId: string;
  params: JobParams;
  /** Runs work that the claim does not wait for. */
  inBackground: (work: Promise<unknown>) => void;
}

/** Returns null if there is nothing to claim now. */
export async function claimWork(
  context: ClaimContext,
  work: ClaimableWork,
  asked: { maxItems: number; leaseMs: number; readsOutputs?: boolean },
): Promise<Claim | null> {
  const { claims, control, workerId } = context;
  const { jobId, phase, suspect: suspects, alone, hasEdits } = work;
  if (work.needsAdmission) {
    if (!(await admitJob(control.db, jobId))) return null;
    work.needsAdmission = false;
  }
  const token = newId();
  const maxBytes = claims.settings.claimMaxBytes;
  const request = { ...asked, jobId, phase, maxBytes, workerId, token, suspects, alone, hasEdits };
  try {
    const leased = await claimItems(claims.db, request);
    if (!leased) return null;
    faultPoint('claim.after_commit');
    return await complete(context, work, leased);
  } catch (error) {
    // The claim may have been committed: return it instead of letting it expire.
    context.inBackground(releaseLease(control, { jobId, token }));
    throw error;
  }
}

async function complete(context: ClaimContext, work: ClaimableWork, leased: ClaimedSpan): Promise<Claim> {
  const { control } = context;
  if (work.unstarted) {
    work.unstarted = false;
    context.inBackground(noteStart(control, work.jobId));
  }
  const span = leased.items.length < leased.itemCount ? await giveBackSurplus(control, leased) : leased;
  return {
    ...span,
    owner: work.owner,
    budget: work.budget,
    itemCosts: await readCosts(control, work.budget, span),
    params: await retryPassing(() => context.params.of(control.db, work.jobId)),
  };
}

async function noteStart({ db, events }: EngineContext, jobId: string): Promise<void> {
  if (await startJob(db, jobId)) events.emit('job.started', { jobId });
}

/** Releases the items that exceed the memory limit. */
async function giveBackSurplus({ db }: EngineContext, leased: ClaimedSpan): Promise<ClaimedSpan> {
  const itemCount = leased.items.length;
  const ranges = rangesOf(leased.items.map((item) => item.seq));
  await retryPassing(() => releaseAllBut(db, leased, formatRanges(ranges), itemCount));
  return { ...leased, itemCount, ranges };
}

/** Items that were never called have no cost. */
async function readCosts(
  { db }: EngineContext,
  budget: WorkBudget | null,
  { jobId, generation, phase, attempt, items }: ClaimedSpan,
): Promise<ReadonlyMap<number, number> | null> {
  if (budget === null || budget.perItem === null) return null;
  if (generation === 1 && phase === 0 && attempt === 0) return null;
  const seqs = items.map(({ seq }) => seq);
  return retryPassing(() => readItemCosts(db, jobId, seqs));
}
