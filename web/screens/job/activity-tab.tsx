// Actions of people and events of the job, newest first.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Activity, User } from 'lucide-react';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { ShowMore } from '../../components/show-more.tsx';
import { client } from '../../lib/client.ts';
import { detailWords } from '../../lib/detail-words.ts';
import type { Job } from '../../lib/job.ts';
import { FailedScreen } from '../failed-screen.tsx';

export function ActivityTab({ job }: { job: Job }) {
  const { jobId } = job;
  const activity = useInfiniteQuery({
    queryKey: ['job', jobId, 'activity'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listJobActivity({ jobId, ...(pageParam !== undefined && { after: pageParam }) }, { signal }),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  if (activity.isError && !activity.data) return <FailedScreen error={activity.error} />;
  if (!activity.data) return <p className="text-muted">Loading…</p>;
  const entries = activity.data.pages.flatMap((page) => page.items);
  if (entries.length === 0)
    return <EmptyState title="No activity yet">Activity on this job appears here.</EmptyState>;
  return (
    <div className="flex flex-col gap-3">
      <ol aria-label="Activity" className="rounded-lg border border-line bg-surface">
        {entries.map(({ at, kind, actor, action, detail }, place) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: entries have no name of their own and never change
            key={`${at} ${place}`}
            className="flex items-start gap-3 border-b border-line px-4 py-2.5 last:border-b-0"
          >
            {kind === 'audit' ? (
              <User size={15} className="mt-0.5 shrink-0 text-muted" aria-label="By a person" />
            ) : (
              <Activity size={15} className="mt-0.5 shrink-0 text-muted" aria-label="By the system" />
            )}
            <div className="min-w-0 flex-1">
              <p>
                <span className="font-medium">{actionWords(action)}</span>
                {actor !== null && <span className="text-muted"> by {actor}</span>}
              </p>
              <Details detail={detail} />
            </div>
            <span className="text-[13px] text-muted">
              <RelativeTime at={at} />
            </span>
          </li>
        ))}
      </ol>
      {activity.isFetchNextPageError && <FailureNote error={activity.error} />}
      <ShowMore of={activity} />
    </div>
  );
}

/** Audit entries and events of the job in words. */
const DONE_WORDS: Record<string, string> = {
  'job.create': 'Created',
  'job.change': 'Changed',
  'job.pause': 'Paused',
  'job.resume': 'Resumed',
  'job.cancel': 'Cancelled',
  'job.reprocess': 'Rerun',
  'job.seal': 'All rows submitted',
  'job.append': 'Rows added',
  'job.sealed': 'All rows received',
  'job.stuck': 'Stuck',
  'job.reprocessed': 'Rerun started',
};

/** job.finished: Job finished. */
function actionWords(action: string): string {
  const words = DONE_WORDS[action] ?? action.replace(/[._]/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** State and counts are omitted: the event implies them. */
function Details({ detail }: { detail: unknown }) {
  const { state: _, outcome: __, counts: ___, ...rest } = (detail ?? {}) as Record<string, unknown>;
  const facts = detailWords(rest);
  if (facts.length === 0) return null;
  return <p className="text-[13px] break-words text-muted">{facts.join(' · ')}</p>;
}
