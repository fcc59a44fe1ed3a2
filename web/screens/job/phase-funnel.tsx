// Rows per phase: waiting, on a worker, passed on and finished.
import { Fragment, memo } from 'react';
import { Section } from '../../components/section.tsx';
import { formatCount, formatDuration } from '../../lib/format.ts';
import type { Job } from '../../lib/job.ts';

type Phase = Job['perPhase'][number];

const PARTS = [
  ['waiting', 'Waiting', 'bg-quiet-soft', 'bg-line'],
  ['processing', 'On a worker', 'bg-info', 'bg-info'],
  ['advanced', 'Passed on', 'bg-accent', 'bg-accent'],
  ['done', 'Done', 'bg-good', 'bg-good'],
  ['skipped', 'Skipped', 'bg-quiet', 'bg-quiet'],
  ['notFound', 'Not found', 'bg-warn', 'bg-warn'],
  ['error', 'Failed', 'bg-bad', 'bg-bad'],
] as const;

export const PhaseFunnel = memo(function PhaseFunnel({ job }: { job: Pick<Job, 'perPhase' | 'generation'> }) {
  return (
    <Section title="Phases">
      <ol className="flex flex-col gap-3">
        {job.perPhase.map((phase, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: phases keep their place
          <PhaseLine key={at} phase={phase} isFirstRun={job.generation === 1} />
        ))}
      </ol>
    </Section>
  );
});

function PhaseLine({ phase, isFirstRun }: { phase: Phase; isFirstRun: boolean }) {
  const parts = PARTS.filter(([key]) => phase[key] > 0);
  const total = parts.reduce((sum, [key]) => sum + phase[key], 0);
  const ended = phase.done + phase.error + phase.notFound + phase.skipped + phase.advanced + phase.retried;
  return (
    <li className="flex flex-col gap-1">
      <div className="flex items-baseline justify-between gap-3">
        <span className="truncate font-medium">{phase.name}</span>
        {/* Later runs inherit counts but not durations. */}
        {isFirstRun && ended > 0 && (
          <span className="text-[13px] whitespace-nowrap text-muted tabular-nums">
            {formatDuration(phase.handlerMs / ended)} per call
          </span>
        )}
      </div>
      <div aria-hidden className="flex h-2.5 overflow-hidden rounded bg-quiet-soft">
        {total > 0 &&
          parts.map(([key, , colour]) => (
            <div key={key} className={colour} style={{ width: `${(phase[key] / total) * 100}%` }} />
          ))}
      </div>
      <p className="flex flex-wrap gap-x-3 gap-y-0.5 text-[13px] text-muted tabular-nums">
        {total === 0 && 'No activity yet'}
        {parts.map(([key, word, , dot]) => (
          <Fragment key={key}>
            <span
              className="inline-flex items-center gap-1.5"
              title={key === 'advanced' ? 'Moved to the next phase' : undefined}
            >
              <span aria-hidden className={`size-2 rounded-full ${dot}`} />
              {word} {formatCount(phase[key])}
            </span>
          </Fragment>
        ))}
        {phase.retried > 0 && (
          <span>
            {formatCount(phase.retried)} {phase.retried === 1 ? 'retry' : 'retries'}
          </span>
        )}
      </p>
    </li>
  );
}
