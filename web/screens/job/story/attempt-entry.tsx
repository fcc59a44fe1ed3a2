// One attempt in the timeline of a row: the wait before it, its outcome, error with stack, requests, log
// lines and output.
import { formatCost } from '../../../../src/core/limits/format-cost.ts';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { errorClassWords } from '../../../lib/error-class-words.ts';
import { formatDuration } from '../../../lib/format.ts';
import type { Job } from '../../../lib/job.ts';
import { type Attempt, entryWords, otherParts } from './row-story.ts';
import { Entry, Folded } from './story-timeline.tsx';

const OUTCOMES: Record<Attempt['outcome'], [words: string, tone: string]> = {
  advanced: ['passed on', 'bg-good'],
  retry: ['failed, retried', 'bg-warn'],
  done: ['completed', 'bg-good'],
  error: ['failed', 'bg-bad'],
  not_found: ['not found', 'bg-warn'],
  skipped: ['skipped', 'bg-quiet'],
  cancelled: ['cancelled', 'bg-quiet'],
};
const WAITS: Record<NonNullable<Attempt['waitedFor']>, string> = {
  retry: 'retry delay',
  rate_limit: 'rate limit',
  budget: 'budget',
  slot: 'free slot',
};
/** Outcomes whose error the result of the run repeats. */
const FINAL: readonly Attempt['outcome'][] = ['error', 'not_found', 'skipped', 'cancelled'];

export interface AttemptEntryProps {
  attempt: Attempt;
  output: unknown;
  job: Pick<Job, 'phases' | 'costUnit'>;
}

export function AttemptEntry({ attempt, output, job }: AttemptEntryProps) {
  const { phase, phaseName, attempt: number, outcome, waitedMs, waitedFor } = attempt;
  const { durationMs, cost, strategy, workerId, startedAt, endedAt, error, errorClass } = attempt;
  const [words, tone] = OUTCOMES[outcome] ?? [outcome, 'bg-quiet'];
  const at = startedAt ?? endedAt;
  return (
    <>
      {waitedMs !== null && waitedMs > 0 && (
        <li className="text-[13px] text-muted">
          Waited {formatDuration(waitedMs)}
          {waitedFor !== null && `: ${WAITS[waitedFor] ?? waitedFor}`}
        </li>
      )}
      <Entry
        tone={tone}
        title={`${phaseName ?? job.phases[phase] ?? phase}, attempt ${number}: ${words}`}
        aside={at !== null && <RelativeTime at={at} />}
      >
        <p className="flex flex-wrap gap-x-3 text-[13px] text-muted empty:hidden">
          {durationMs !== null && <span>{formatDuration(durationMs)}</span>}
          {cost !== null && cost > 0 && <span>cost {formatCost(cost, job.costUnit)}</span>}
          {strategy !== null && <span>strategy {strategy}</span>}
          {errorClass !== null && <span>{errorClassWords(errorClass)}</span>}
          {workerId !== null && <span title={workerId}>on worker {workerId.slice(0, 8)}</span>}
        </p>
        {error !== null && !FINAL.includes(outcome) && (
          <p className="break-words whitespace-pre-wrap text-bad">{error}</p>
        )}
        <OtherParts attempt={attempt} />
        <Requests attempt={attempt} />
        <LogLines attempt={attempt} />
        <Stack attempt={attempt} />
        {output !== undefined && <Folded title="Output" value={output} />}
      </Entry>
    </>
  );
}

const LEVELS: Record<string, string> = { info: 'text-muted', warn: 'text-warn', error: 'text-bad' };

function LogLines({ attempt: { log, droppedLines } }: { attempt: Attempt }) {
  if (log.length === 0) return null;
  return (
    <ol aria-label="Log" className="flex flex-col rounded-md bg-sunken px-3 py-2 font-mono text-xs">
      {log.map(({ atMs, level, message, fields }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines stay where they are
        <li key={at} className="break-words whitespace-pre-wrap">
          <span className="text-muted">+{formatDuration(atMs)} </span>
          <span className={LEVELS[level] ?? ''}>{level}</span> {message}
          {fields !== null && <span className="text-muted"> {entryWords(fields)}</span>}
        </li>
      ))}
      {droppedLines > 0 && <li className="text-muted">{droppedLines} more lines over the limit</li>}
    </ol>
  );
}

function Requests({ attempt: { fetches, droppedFetches } }: { attempt: Attempt }) {
  if (fetches.length === 0) return null;
  return (
    <ol aria-label="Requests" className="flex flex-col rounded-md bg-sunken px-3 py-2 font-mono text-xs">
      {fetches.map(({ atMs, method, url, status, durationMs }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: requests stay where they are
        <li key={at} className="break-words whitespace-pre-wrap">
          <span className="text-muted">+{formatDuration(atMs)} </span>
          {method} {url} <span className={statusTone(status)}>{status ?? 'no answer'}</span>
          <span className="text-muted"> in {formatDuration(durationMs)}</span>
        </li>
      ))}
      {droppedFetches > 0 && <li className="text-muted">{droppedFetches} more requests over the limit</li>}
    </ol>
  );
}

function statusTone(status: number | null): string {
  if (status === null || status >= 500) return 'text-bad';
  return status >= 400 ? 'text-warn' : 'text-good';
}

export function Stack({ attempt: { thrown } }: { attempt: Pick<Attempt, 'thrown'> }) {
  if (!thrown || (thrown.stack.length === 0 && thrown.causes.length === 0)) return null;
  const causes = thrown.causes.map(
    ({ name, message, code }) =>
      `Caused by ${name ?? 'error'}: ${message}${code === null ? '' : ` (${code})`}`,
  );
  return (
    <details>
      <summary className="cursor-pointer text-[13px] text-accent">Stack</summary>
      <pre tabIndex={0} className="mt-1.5 overflow-auto rounded-md bg-sunken px-3 py-2 font-mono text-xs">
        {[thrown.name ?? 'Error', ...thrown.stack.map((frame) => `  ${frame}`), ...causes].join('\n')}
      </pre>
    </details>
  );
}

function OtherParts({ attempt }: { attempt: Attempt }) {
  return otherParts(attempt).map(([name, entries]) => (
    <div key={name} className="text-[13px]">
      <p className="text-muted">{name}</p>
      <ul className="rounded-md bg-sunken px-3 py-2 font-mono text-xs">
        {entries.map((entry, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: entries stay where they are
          <li key={at} className="break-words whitespace-pre-wrap">
            {entryWords(entry)}
          </li>
        ))}
      </ul>
    </div>
  ));
}
