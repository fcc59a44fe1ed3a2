// Rate limits of the pipeline's resources, with their current use.
import { memo } from 'react';
import { Section } from '../../components/section.tsx';
import { type ResourceState, ResourceStateChip } from '../../components/resource-state-chip.tsx';
import { formatCount, formatDuration, formatPercent, formatRate } from '../../lib/format.ts';
import type { Job } from '../../lib/job.ts';

/** Fields of a limit beyond the contract, as the server sends them. */
interface Limit {
  name: string;
  key: string;
  inUse?: number;
  wanted?: number;
  share?: number;
  concurrencyNow?: number | null;
  rateNow?: number | null;
  state?: ResourceState;
  stopped?: { reason: string; forMs: number | null } | null;
}

export const JobLimits = memo(function JobLimits({ job }: { job: Job }) {
  const limits = job.limits as Limit[];
  return (
    <Section title="Rate limits" className="lg:col-span-3 2xl:col-span-1" aside={workerWords(job.workers)}>
      {limits.length === 0 ? (
        <p className="text-[13px] text-muted">No shared rate limits for this pipeline.</p>
      ) : (
        <ul className="grid gap-x-6 gap-y-3 lg:grid-cols-3 2xl:grid-cols-1">
          {limits.map((limit) => (
            <LimitLine key={`${limit.name} ${limit.key}`} limit={limit} />
          ))}
        </ul>
      )}
    </Section>
  );
});

function workerWords(count: number): string {
  if (count === 0) return 'No workers active';
  return `${formatCount(count)} ${count === 1 ? 'worker' : 'workers'} active`;
}

function LimitLine({ limit }: { limit: Limit }) {
  const { name, key, inUse = 0, wanted = 0, share = 1, concurrencyNow, rateNow, state, stopped } = limit;
  const facts = [
    concurrencyNow == null
      ? `${formatCount(inUse)} active calls`
      : `${formatCount(inUse)} of ${formatCount(concurrencyNow)} active calls`,
    rateNow != null && `max ${formatRate(rateNow)}`,
    wanted > inUse && `${formatCount(wanted)} requested`,
  ].filter(Boolean);
  return (
    <li className="flex flex-col gap-1">
      <div className="flex items-center gap-2">
        <span className="truncate font-medium">
          {name}
          {key !== '' && <span className="text-muted"> · {key}</span>}
        </span>
        {state !== undefined && <ResourceStateChip state={state} />}
      </div>
      <p className="text-[13px] text-muted tabular-nums">{facts.join(' · ')}</p>
      {share < 1 && (
        <p className="text-[13px] text-warn">
          Throttled to {formatPercent(share)} because calls were failing.
        </p>
      )}
      {stopped && (
        <p className="text-[13px] text-bad">
          Stopped: {stopped.reason}
          {stopped.forMs !== null && ` (${formatDuration(stopped.forMs)} left)`}
        </p>
      )}
    </li>
  );
}
