// Failures by group: message, frequency, first and last occurrence, and actions.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { ListFilter, Pencil, RotateCcw, SkipForward } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../../components/button.tsx';
import { EmptyState } from '../../../components/empty-state.tsx';
import { Menu, MenuItem } from '../../../components/menu.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { SearchBox } from '../../../components/search-box.tsx';
import { ShowMore } from '../../../components/show-more.tsx';
import { Sparkline } from '../../../components/sparkline.tsx';
import { client, queries } from '../../../lib/client.ts';
import { errorClassWords } from '../../../lib/error-class-words.ts';
import { formatCount, formatDuration } from '../../../lib/format.ts';
import { canRerun, type ErrorGroup, type Job } from '../../../lib/job.ts';
import { usePermission } from '../../../lib/permission.ts';
import { FailedScreen } from '../../failed-screen.tsx';
import { type Reprocess, ReprocessDialog } from '../reprocess-dialog.tsx';
import { RowNumber } from '../row-number.tsx';
import { useJobChange } from '../use-job-change.ts';
import { useJobSearch } from '../use-job-search.ts';
import { EditGroupDialog } from './edit-group-dialog.tsx';
import { SkipGroupDialog } from './skip-group-dialog.tsx';

const REFRESH_MS = 5000;
const PAGE = 50;

export function ErrorsTab({ job }: { job: Job }) {
  const { jobId } = job;
  const [search, setSearch] = useState('');
  const errors = useInfiniteQuery({
    queryKey: ['job', jobId, 'errors', search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: after, signal }) =>
      client.listErrors(
        { jobId, limit: PAGE, ...(after !== undefined && { after }), ...(search !== '' && { search }) },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
    placeholderData: keepPreviousData,
  });
  const [reprocess, setReprocess] = useState<Reprocess | null>(null);
  const [asked, setAsked] = useState<{ group: ErrorGroup; for: 'skip' | 'edit' } | null>(null);
  useJobChange(jobId, REFRESH_MS, () => {
    void queries.invalidateQueries({ queryKey: ['job', jobId, 'errors'] });
  });
  if (errors.isError && !errors.data) return <FailedScreen error={errors.error} />;
  if (!errors.data) return <p className="text-muted">Loading…</p>;
  const groups = distinct(errors.data.pages.flatMap((page) => page.items));
  const total = errors.data.pages.at(-1)?.total ?? 0;
  if (groups.length === 0 && search === '')
    return (
      <EmptyState title="No errors">
        Similar errors are grouped here so you can retry, fix or skip them together.
      </EmptyState>
    );
  const most = Math.max(1, ...groups.map(({ failed }) => failed));
  const times = groups.flatMap(({ firstSeen, lastSeen }) => [Date.parse(firstSeen), Date.parse(lastSeen)]);
  const span = { fromMs: Math.min(...times), toMs: Math.max(...times) };
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 pb-3">
        <SearchBox label="Search errors" value={search} onChange={setSearch} />
        <p role="status" className="text-[13px] text-muted tabular-nums">
          {groupWords(groups.length, total)}
        </p>
      </div>
      <ul aria-label="Error groups" className="flex flex-col gap-3">
        {groups.map((group) => (
          <Group
            key={`${group.phase} ${group.signature}`}
            job={job}
            group={group}
            most={most}
            span={span}
            onSkip={() => setAsked({ group, for: 'skip' })}
            onEdit={() => setAsked({ group, for: 'edit' })}
            onRun={() =>
              setReprocess({
                verb: 'Retry',
                what: `${formatCount(group.failed)} ${group.failed === 1 ? 'row' : 'rows'} with this error`,
                request: { scope: 'errorGroup', errorGroup: group.signature, phase: group.phase },
              })
            }
          />
        ))}
      </ul>
      <div className="flex flex-col pt-3">
        <ShowMore of={errors} />
      </div>
      <ReprocessDialog job={job} reprocess={reprocess} onClose={() => setReprocess(null)} />
      {asked?.for === 'skip' && (
        <SkipGroupDialog job={job} group={asked.group} onClose={() => setAsked(null)} />
      )}
      {asked?.for === 'edit' && (
        <EditGroupDialog job={job} group={asked.group} onClose={() => setAsked(null)} />
      )}
    </>
  );
}

/** A group may move to the next page between two requests. */
function distinct(groups: readonly ErrorGroup[]): ErrorGroup[] {
  return [...new Map(groups.map((group) => [`${group.phase} ${group.signature}`, group])).values()];
}

function groupWords(shown: number, total: number): string {
  if (total === 0) return 'No matching errors';
  const words = `${formatCount(total)} ${total === 1 ? 'group' : 'groups'}`;
  return shown < total ? `${formatCount(shown)} of ${words}, the largest first` : words;
}

interface GroupProps {
  job: Job;
  group: ErrorGroup;
  most: number;
  /** Time range of all groups. */
  span: { fromMs: number; toMs: number };
  onRun: () => void;
  onSkip: () => void;
  onEdit: () => void;
}

function Group({ job, group, most, span, onRun, onSkip, onEdit }: GroupProps) {
  const [, change] = useJobSearch();
  const { phase, signature, errorClass, sample, sampleSeq, occurrences, failed, firstSeen, lastSeen } = group;
  const { can } = usePermission();
  const canRun = canRerun(job.state);
  // A group is edited or skipped only while no row of it is waiting.
  const canChange = canRun && job.state !== 'PAUSED';
  const canEdit = can('previewErrorEdit', 'editErrors');
  const canSkip = can('skipErrors');
  const show = () =>
    change({ tab: undefined, errorGroup: signature, phase, statuses: undefined, search: undefined }, false);
  return (
    <li className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-4">
      <div className="flex flex-wrap items-start gap-x-6 gap-y-2">
        <div className="min-w-0 flex-1 basis-72">
          <p className="line-clamp-3 font-medium break-words" title={sample}>
            {sample}
          </p>
          <p className="flex flex-wrap gap-x-3 text-[13px] text-muted">
            <span>{errorClassWords(errorClass)}</span>
            <span>phase: {job.phases[phase] ?? phase}</span>
            <span>
              e.g. <RowNumber seq={sampleSeq} />
            </span>
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          <Button size="small" disabled={failed === 0} onClick={show}>
            <ListFilter size={14} aria-hidden /> Show rows
          </Button>
          {can('reprocessJob') && (
            <Button
              size="small"
              disabled={!canRun || failed === 0}
              title={canRun ? undefined : 'Available when the job is finished or paused'}
              onClick={onRun}
            >
              <RotateCcw size={14} aria-hidden /> Retry…
            </Button>
          )}
          {(canEdit || canSkip) && (
            <Menu label="More" name={`More actions for ${signature}`} size="small">
              {canEdit && (
                <MenuItem disabled={!canChange || failed === 0} onSelect={onEdit}>
                  <Pencil size={15} aria-hidden /> Edit a field and retry…
                </MenuItem>
              )}
              {canSkip && (
                <MenuItem disabled={!canChange || failed === 0} onSelect={onSkip}>
                  <SkipForward size={15} aria-hidden /> Skip…
                </MenuItem>
              )}
            </Menu>
          )}
        </div>
      </div>
      <div aria-hidden className="h-1.5 overflow-hidden rounded-full bg-quiet-soft">
        <div className="h-full bg-bad" style={{ width: `${(failed / most) * 100}%` }} />
      </div>
      <p className="flex flex-wrap items-center gap-x-4 text-[13px] text-muted tabular-nums">
        {group.trend.counts.length > 0 && <Trend group={group} span={span} />}
        <span>
          <span className="font-medium text-text">{formatCount(failed)}</span> {failed === 1 ? 'row' : 'rows'}
        </span>
        <span>
          {formatCount(occurrences)} {occurrences === 1 ? 'occurrence' : 'occurrences'}
        </span>
        <span>
          first seen <RelativeTime at={firstSeen} />
        </span>
        <span>
          last seen <RelativeTime at={lastSeen} />
        </span>
      </p>
    </li>
  );
}

function Trend({ group, span }: Pick<GroupProps, 'group' | 'span'>) {
  const { from, stepMs, counts } = group.trend;
  const fromMs = Date.parse(from);
  const label = `Over time: at most ${formatCount(Math.max(...counts))} in ${formatDuration(stepMs)}, ${formatCount(counts.at(-1)!)} in the last`;
  return <Sparkline {...span} steps={{ fromMs, stepMs, counts }} label={label} />;
}
