// The table of jobs with live progress and selection.
import { Link } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import type { z } from 'zod';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import type { listedJob } from '../../../src/contract/jobs.ts';
import { checkBoxClass } from '../../components/check-field.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { OutcomeChip, StatusChip } from '../../components/status-chip.tsx';
import { classNames } from '../../lib/class-names.ts';
import { formatCount, formatRate } from '../../lib/format.ts';
import { useProgress } from '../../lib/live.ts';
import { becauseWords } from './because-words.ts';

export type ListedJob = z.infer<typeof listedJob>;

export interface JobTableProps {
  jobs: readonly ListedJob[];
  /** Null: the user cannot act on jobs. */
  selected: ReadonlySet<string> | null;
  onSelect: (jobIds: readonly string[], isSelected: boolean) => void;
}

/** Columns hidden on a narrow screen. */
const WIDE = 'hidden md:table-cell';
const HEADINGS = [
  ['Name', ''],
  ['State', ''],
  ['Progress', 'hidden sm:table-cell'],
  ['Rows', 'hidden sm:table-cell text-right'],
  ['Speed', classNames(WIDE, 'text-right')],
  ['Owner', WIDE],
  ['Created', 'hidden sm:table-cell'],
] as const;

export function JobTable({ jobs, selected, onSelect }: JobTableProps) {
  const isAll = jobs.length > 0 && jobs.every(({ jobId }) => selected?.has(jobId));
  return (
    <section
      aria-label="Jobs"
      tabIndex={0}
      className="relative overflow-x-auto rounded-lg border border-line bg-surface"
    >
      <table className="w-full text-left">
        <thead className="border-b border-line text-[13px] text-muted">
          <tr>
            {selected && (
              <th scope="col" className="w-9 pl-3">
                <input
                  type="checkbox"
                  aria-label="Select all shown"
                  className={classNames(checkBoxClass, 'align-middle')}
                  checked={isAll}
                  onChange={({ target }) =>
                    onSelect(
                      jobs.map(({ jobId }) => jobId),
                      target.checked,
                    )
                  }
                />
              </th>
            )}
            {HEADINGS.map(([title, className]) => (
              <th
                key={title}
                scope="col"
                className={classNames('px-3 py-2 font-medium whitespace-nowrap', className)}
              >
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <JobRow
              key={job.jobId}
              job={job}
              isSelected={selected?.has(job.jobId) ?? null}
              onSelect={(isSelected) => onSelect([job.jobId], isSelected)}
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface JobRowProps {
  job: ListedJob;
  isSelected: boolean | null;
  onSelect: (isSelected: boolean) => void;
}

function JobRow({ job, isSelected, onSelect }: JobRowProps) {
  // An event is valid until the job is refetched: the fetched job includes missed events.
  const [latest, setLatest] = useState<{ event: ProgressEvent; job: ListedJob } | null>(null);
  useProgress(useCallback((event) => event.jobId === job.jobId && setLatest({ event, job }), [job]));
  const { counts, itemCount, perSecond, state } = latest?.job === job ? latest.event : job;
  const name = job.name || job.jobId.slice(0, 8);
  const because = becauseWords(job, { counts, state });
  return (
    <tr
      className={classNames(
        'border-b border-line last:border-0',
        isSelected ? 'bg-accent-soft/50' : 'hover:bg-sunken',
      )}
    >
      {isSelected !== null && (
        <td className="w-9 pl-3">
          <input
            type="checkbox"
            aria-label={`Select ${name}`}
            className={classNames(checkBoxClass, 'align-middle')}
            checked={isSelected}
            onChange={({ target }) => onSelect(target.checked)}
          />
        </td>
      )}
      <th scope="row" className="max-w-48 px-3 py-2.5 text-left font-normal sm:max-w-72">
        <Link
          to="/jobs/$jobId"
          params={{ jobId: job.jobId }}
          className="block truncate font-medium hover:underline"
        >
          {name}
        </Link>
        <span className="block truncate text-[13px] text-muted">{job.pipeline}</span>
        <div className="pt-1 sm:hidden">
          <ProgressBar counts={counts} total={itemCount} />
          {because !== null && <p className="line-clamp-2 text-[13px] text-muted">{because}</p>}
        </div>
      </th>
      <td className="px-3">
        <span className="inline-flex flex-wrap gap-1">
          <StatusChip status={state} />
          <OutcomeChip state={state} outcome={job.outcome} />
        </span>
        {because !== null && (
          <p className="hidden max-w-64 truncate text-[13px] text-muted sm:block" title={because}>
            {because}
          </p>
        )}
      </td>
      <td className="hidden w-48 min-w-32 px-3 sm:table-cell">
        <ProgressBar counts={counts} total={itemCount} />
        <span className="text-[13px] text-muted">{failedWords(counts)}</span>
      </td>
      <td className="hidden px-3 text-right tabular-nums sm:table-cell">{formatCount(itemCount)}</td>
      <td className={classNames(WIDE, 'px-3 text-right tabular-nums')}>
        {perSecond > 0 && state === 'RUNNING' ? formatRate(perSecond) : ''}
      </td>
      <td className={classNames(WIDE, 'max-w-32 truncate px-3 text-muted')}>{job.ownerId}</td>
      <td className="hidden px-3 text-muted sm:table-cell">
        <RelativeTime at={job.createdAt} />
      </td>
    </tr>
  );
}

const FAILED_WORDS: Record<string, string> = { ERROR: 'failed', NOT_FOUND: 'not found' };

function failedWords(counts: Partial<Record<string, number>>): string {
  return ['ERROR', 'NOT_FOUND']
    .filter((status) => (counts[status] ?? 0) > 0)
    .map((status) => `${formatCount(counts[status]!)} ${FAILED_WORDS[status]}`)
    .join(', ');
}
