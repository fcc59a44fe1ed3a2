// Failures as a table of groups: pattern, rows, share, trend, who can fix it, and actions on one or many groups.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { MAX_ERROR_GROUPS } from '../../../../src/core/files/error-group-ref.ts';
import { checkBoxClass } from '../../../components/check-field.tsx';
import { EmptyState } from '../../../components/empty-state.tsx';
import { SearchBox } from '../../../components/search-box.tsx';
import { ShowMore } from '../../../components/show-more.tsx';
import { Table } from '../../../components/table.tsx';
import { client, queries } from '../../../lib/client.ts';
import { formatCount } from '../../../lib/format.ts';
import type { ErrorGroup, Job } from '../../../lib/job.ts';
import { FailedScreen } from '../../failed-screen.tsx';
import { type Reprocess, ReprocessDialog } from '../reprocess-dialog.tsx';
import { useJobChange } from '../use-job-change.ts';
import { EditGroupDialog } from './edit-group-dialog.tsx';
import { ErrorRow } from './error-row.tsx';
import { type GroupAction, groupAllowance } from './group-actions.ts';
import { groupKey, groupsRequest, rowsOf } from './group-selection.ts';
import { GroupsBar } from './groups-bar.tsx';
import { SkipGroupDialog } from './skip-group-dialog.tsx';

type UnsuccessfulCounts = Record<ErrorGroup['status'], number>;

const REFRESH_MS = 5000;
const PAGE = 50;

export function ErrorsTab({ job }: { job: Job }) {
  const { jobId } = job;
  const [search, setSearch] = useState('');
  const errors = useInfiniteQuery({
    queryKey: ['job', jobId, 'errors', 'groups', search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor, signal }) =>
      client.listErrors(
        { jobId, limit: PAGE, ...(cursor !== undefined && { cursor }), ...(search !== '' && { search }) },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
  });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [asked, setAsked] = useState<{ groups: ErrorGroup[]; action: GroupAction } | null>(null);
  useJobChange(jobId, REFRESH_MS, () => {
    void queries.invalidateQueries({ queryKey: ['job', jobId, 'errors'] });
  });
  if (errors.isError && !errors.data) return <FailedScreen error={errors.error} />;
  if (!errors.data) return <p className="text-muted">Loading…</p>;
  const groups = distinct(errors.data.pages.flatMap((page) => page.items));
  const totals = errors.data.pages.at(-1)!;
  if (groups.length === 0 && search === '')
    return (
      <EmptyState title="No errors">
        Similar errors are grouped here so you can retry, fix or skip them together.
      </EmptyState>
    );
  // Groups that have no rows any more are not selected.
  const chosen = groups.filter((group) => group.rows > 0 && selected.has(groupKey(group)));
  const allowed = groupAllowance(job.state);
  const close = () => setAsked(null);
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 pb-3">
        <SearchBox label="Search errors" value={search} onChange={setSearch} />
        <p role="status" className="text-[13px] text-muted tabular-nums">
          {groupWords(groups.length, totals)}
        </p>
      </div>
      {chosen.length > 0 && (
        <GroupsBar
          job={job}
          groups={chosen}
          allowed={allowed}
          onAct={(action) => setAsked({ groups: chosen, action })}
          onClear={() => setSelected(new Set())}
        />
      )}
      {groups.length > 0 && (
        <ErrorTable
          job={job}
          groups={groups}
          all={totals.all}
          selected={selected}
          onSelect={setSelected}
          onAct={(group, action) => setAsked({ groups: [group], action })}
        />
      )}
      <div className="flex flex-col pt-3">
        <ShowMore of={errors} />
      </div>
      <ReprocessDialog
        job={job}
        reprocess={asked?.action === 'retry' ? retryOf(asked.groups) : null}
        onClose={close}
      />
      {asked?.action === 'skip' && <SkipGroupDialog job={job} groups={asked.groups} onClose={close} />}
      {asked?.action === 'edit' && <EditGroupDialog job={job} groups={asked.groups} onClose={close} />}
    </>
  );
}

interface ErrorTableProps {
  job: Job;
  groups: readonly ErrorGroup[];
  all: UnsuccessfulCounts;
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  onAct: (group: ErrorGroup, action: GroupAction) => void;
}

function ErrorTable({ job, groups, all: counts, selected, onSelect, onAct }: ErrorTableProps) {
  const allowed = groupAllowance(job.state);
  const times = groups.flatMap(({ firstSeen, lastSeen }) => [Date.parse(firstSeen), Date.parse(lastSeen)]);
  const span = { fromMs: Math.min(...times), toMs: Math.max(...times) };
  const selectable = groups.filter(({ rows }) => rows > 0).slice(0, MAX_ERROR_GROUPS);
  const areAll = selectable.length > 0 && selectable.every((group) => selected.has(groupKey(group)));
  const all = (
    <input
      type="checkbox"
      className={checkBoxClass}
      aria-label="Select all shown errors"
      checked={areAll}
      onChange={() => onSelect(new Set(areAll ? [] : selectable.map(groupKey)))}
    />
  );
  const select = (group: ErrorGroup, isSelected: boolean) => {
    const others = [...selected].filter((key) => key !== groupKey(group));
    // One request takes a limited number of groups.
    onSelect(new Set(isSelected ? [...others, groupKey(group)].slice(-MAX_ERROR_GROUPS) : others));
  };
  return (
    <Table
      label="Errors"
      numbers={[2, 3, 7]}
      headings={[all, 'Error', 'Rows', 'Share', 'Trend', 'Seen', 'Who can fix it', 'Cost to retry', '']}
    >
      {groups.map((group) => (
        <ErrorRow
          key={groupKey(group)}
          job={job}
          group={group}
          statusRows={counts[group.status]}
          span={span}
          allowed={allowed}
          isSelected={selected.has(groupKey(group))}
          onSelect={(isSelected) => select(group, isSelected)}
          onAct={(action) => onAct(group, action)}
        />
      ))}
    </Table>
  );
}

function retryOf(groups: readonly ErrorGroup[]): Reprocess {
  const rows = rowsOf(groups);
  const errors = groups.length === 1 ? 'this error' : `these ${formatCount(groups.length)} errors`;
  return {
    verb: 'Retry',
    what: `${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'} with ${errors}`,
    request: { scope: 'errorGroup', ...groupsRequest(groups) },
  };
}

/** A group may move to the next page between two requests. */
function distinct(groups: readonly ErrorGroup[]): ErrorGroup[] {
  return [...new Map(groups.map((group) => [groupKey(group), group])).values()];
}

function groupWords(
  shown: number,
  { total, matching }: { total: number; matching: UnsuccessfulCounts },
): string {
  if (total === 0) return 'No matching errors';
  const words = `${formatCount(total)} ${total === 1 ? 'group' : 'groups'}`;
  const rows = [
    ...(matching.ERROR > 0 ? [`${formatCount(matching.ERROR)} failed`] : []),
    ...(matching.NOT_FOUND > 0 ? [`${formatCount(matching.NOT_FOUND)} not found`] : []),
  ].join(', ');
  return shown < total
    ? `${formatCount(shown)} of ${words}, the largest first: ${rows}`
    : `${words}: ${rows || 'all retried'}`;
}
