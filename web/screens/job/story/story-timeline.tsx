// The timeline of a row: its input, and in each run the edit, attempts, waits, log lines, phase outputs and result.
import { type ReactNode, useId } from 'react';
import { formatCost } from '../../../../src/core/limits/format-cost.ts';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { StatusChip } from '../../../components/status-chip.tsx';
import { classNames } from '../../../lib/class-names.ts';
import { formatDuration } from '../../../lib/format.ts';
import type { ItemDetail, Job } from '../../../lib/job.ts';
import { ValueList } from '../value-list.tsx';
import { AttemptEntry } from './attempt-entry.tsx';
import { type Attempt, rowStory, type StoryRun } from './row-story.ts';

export interface StoryTimelineProps {
  job: Job;
  item: ItemDetail;
  attempts: readonly Attempt[];
}

export function StoryTimeline({ job, item, attempts }: StoryTimelineProps) {
  const id = useId();
  const runs = rowStory(item, attempts);
  return (
    <section aria-labelledby={id} className="flex flex-col gap-2">
      <h3 id={id} className="text-[13px] font-semibold">
        Timeline
      </h3>
      <ol className="ml-1.5 flex flex-col gap-3 border-l-2 border-line pl-4">
        <Entry tone="bg-quiet" title={item.parent ? 'Added by another row' : 'Read from the input'}>
          {item.edits.length > 0 && <Folded title="Original input" value={item.originalInput} />}
        </Entry>
        {runs.map((run) => (
          <Run key={run.generation} job={job} item={item} run={run} isOnly={job.generation === 1} />
        ))}
        {item.now !== 'ENDED' && <Now job={job} item={item} />}
      </ol>
    </section>
  );
}

interface RunProps {
  job: Job;
  item: ItemDetail;
  run: StoryRun;
  isOnly: boolean;
}

function Run({ job, item, run, isOnly }: RunProps) {
  const { generation, editedAt, attempts, result } = run;
  const edited = item.edits.find((edit) => edit.generation === generation);
  return (
    <>
      {!isOnly && (
        <li className="-ml-4 border-b border-line pl-4 text-[13px] font-semibold">
          <h4>Run {generation}</h4>
        </li>
      )}
      {editedAt !== null && (
        <Entry tone="bg-info" title="Input edited" aside={<RelativeTime at={editedAt} />}>
          <Folded title="Edited input" value={edited?.input} />
        </Entry>
      )}
      {attempts.map(({ attempt, output }) => (
        <AttemptEntry
          key={`${attempt.phase} ${attempt.attempt}`}
          attempt={attempt}
          output={output}
          job={job}
        />
      ))}
      {result && <Result result={result} job={job} />}
    </>
  );
}

function Result({ result, job }: { result: NonNullable<StoryRun['result']>; job: Job }) {
  const { status, handlerMs, cost, finishedAt, error } = result;
  return (
    <Entry
      tone={status === 'DONE' ? 'bg-good' : status === 'ERROR' ? 'bg-bad' : 'bg-warn'}
      title={<StatusChip status={status} />}
      aside={<RelativeTime at={finishedAt} />}
    >
      <p className="flex flex-wrap gap-x-3 text-[13px] text-muted empty:hidden">
        {handlerMs !== null && <span>{formatDuration(handlerMs)}</span>}
        {cost !== null && cost > 0 && <span>cost {formatCost(cost, job.costUnit)}</span>}
      </p>
      {error !== null && <p className="break-words whitespace-pre-wrap text-bad">{error}</p>}
      {result.result !== null && (
        <Folded title="Result of this run" value={result.result} order={job.resultColumns} />
      )}
    </Entry>
  );
}

/** The state of a row without a result in this run. */
function Now({ job, item }: { job: Job; item: ItemDetail }) {
  const { now, phase, lockedBy, readyAt } = item;
  return (
    <Entry tone="bg-info" title={<StatusChip status={now} />}>
      <p className="flex flex-wrap gap-x-3 text-[13px] text-muted">
        {phase !== null && <span>{job.phases[phase] ?? phase}</span>}
        {lockedBy !== null && <span>on {lockedBy}</span>}
        {readyAt !== null && now === 'RETRYING' && (
          <span>
            next attempt <RelativeTime at={readyAt} />
          </span>
        )}
      </p>
    </Entry>
  );
}

export interface EntryProps {
  /** Colour of the dot. */
  tone: string;
  title: ReactNode;
  aside?: ReactNode;
  children?: ReactNode;
}

export function Entry({ tone, title, aside, children }: EntryProps) {
  return (
    <li className="relative flex min-w-0 flex-col gap-1">
      <span
        aria-hidden
        className={classNames(
          'absolute top-1.5 -left-[1.4rem] size-2.5 rounded-full ring-2 ring-surface',
          tone,
        )}
      />
      <div className="flex flex-wrap items-center gap-x-3 text-[13px]">
        <span className="font-medium">{title}</span>
        {aside && <span className="ml-auto text-muted">{aside}</span>}
      </div>
      {children}
    </li>
  );
}

/** A value that opens on a click. */
export function Folded({
  title,
  value,
  order,
}: {
  title: string;
  value: unknown;
  order?: readonly string[];
}) {
  return (
    <details>
      <summary className="cursor-pointer text-[13px] text-accent">{title}</summary>
      <div className="pt-1.5">
        <ValueList value={value} {...(order && { order })} />
      </div>
    </details>
  );
}
