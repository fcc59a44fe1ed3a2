// The tabs of a job; only the open one is rendered.
import { Tabs } from 'radix-ui';
import { lazy, type ReactNode, Suspense } from 'react';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import { fetchPart } from '../../lib/fetch-part.ts';
import { formatShort } from '../../lib/format.ts';
import type { Job } from '../../lib/job.ts';
import { type JobSearch, useJobSearch } from './use-job-search.ts';

const ItemsTab = lazy(() =>
  fetchPart(() => import('./items/items-tab.tsx')).then((module) => ({ default: module.ItemsTab })),
);
const TreeTab = lazy(() =>
  fetchPart(() => import('./tree/tree-tab.tsx')).then((module) => ({ default: module.TreeTab })),
);
const PendingTab = lazy(() =>
  fetchPart(() => import('./pending-tab.tsx')).then((module) => ({ default: module.PendingTab })),
);
const ErrorsTab = lazy(() =>
  fetchPart(() => import('./errors/errors-tab.tsx')).then((module) => ({ default: module.ErrorsTab })),
);
const RejectedTab = lazy(() =>
  fetchPart(() => import('./rejected-tab.tsx')).then((module) => ({ default: module.RejectedTab })),
);
const FilesTab = lazy(() =>
  fetchPart(() => import('./files-tab.tsx')).then((module) => ({ default: module.FilesTab })),
);
const GenerationsTab = lazy(() =>
  fetchPart(() => import('./generations-tab.tsx')).then((module) => ({ default: module.GenerationsTab })),
);
const ActivityTab = lazy(() =>
  fetchPart(() => import('./activity-tab.tsx')).then((module) => ({ default: module.ActivityTab })),
);

/** Scrolls the open tab into view on a narrow screen. */
function intoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

type Tab = NonNullable<JobSearch['tab']>;

type TabPart = [Tab, string, number | null, ReactNode];

export interface JobTabsProps {
  job: Job;
  live: Pick<ProgressEvent, 'counts' | 'itemCount'>;
}

export function JobTabs({ job, live }: JobTabsProps) {
  const [{ tab = 'items' }, change] = useJobSearch();
  const { counts, itemCount } = live;
  const rejected = job.ingestReport.rejected ?? 0;
  const tabs: TabPart[] = [
    ['items', 'Rows', itemCount, <ItemsTab key="items" job={job} itemCount={itemCount} />],
    // Only for jobs in which rows added rows.
    ...((job.ingestReport.emitted ?? 0) > 0 || tab === 'tree'
      ? ([['tree', 'Hierarchy', null, <TreeTab key="tree" job={job} />]] satisfies TabPart[])
      : []),
    [
      'pending',
      'In progress',
      (counts.PENDING ?? 0) + (counts.PROCESSING ?? 0),
      <PendingTab key="pending" job={job} />,
    ],
    ['errors', 'Errors', counts.ERROR ?? 0, <ErrorsTab key="errors" job={job} />],
    ...(rejected > 0 || tab === 'rejected'
      ? [
          [
            'rejected',
            'Unreadable lines',
            rejected,
            <RejectedTab key="rejected" job={job} />,
          ] satisfies TabPart,
        ]
      : []),
    ['files', 'Files', null, <FilesTab key="files" job={job} />],
    ['generations', 'Runs', job.generation, <GenerationsTab key="generations" job={job} />],
    ['activity', 'Activity', null, <ActivityTab key="activity" job={job} />],
  ];
  return (
    <Tabs.Root
      value={tab}
      onValueChange={(next) => change({ tab: next === 'items' ? undefined : (next as Tab) }, false)}
      className="flex min-h-0 flex-1 flex-col"
    >
      <Tabs.List
        aria-label="Job sections"
        className="no-print flex gap-1 overflow-x-auto border-b border-line"
      >
        {tabs.map(([name, word, count]) => (
          <Tabs.Trigger
            key={name}
            value={name}
            ref={name === tab ? intoView : undefined}
            className="-mb-px flex items-center gap-1.5 border-b-2 border-transparent px-3 py-2 whitespace-nowrap text-muted hover:text-text focus-visible:outline-offset-[-2px] data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-text"
          >
            {word}
            {count !== null && count > 0 && (
              <span className="rounded-full bg-quiet-soft px-1.5 text-xs font-normal text-quiet tabular-nums">
                {formatShort(count)}
              </span>
            )}
          </Tabs.Trigger>
        ))}
      </Tabs.List>
      {tabs.map(([name, , , panel]) => (
        <Tabs.Content
          key={name}
          value={name}
          className="flex min-h-0 flex-1 flex-col pt-4 data-[state=inactive]:hidden"
        >
          {tab === name && <Suspense fallback={<p className="text-muted">Loading…</p>}>{panel}</Suspense>}
        </Tabs.Content>
      ))}
    </Tabs.Root>
  );
}
