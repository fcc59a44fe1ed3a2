// The panel of one row: facts, input, result, its timeline and related rows, with actions on it.
import { useQuery } from '@tanstack/react-query';
import { ChevronLeft, ChevronRight, Pencil, RotateCcw } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { imageKeys } from '../../../src/contract/image-keys.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StatusChip } from '../../components/status-chip.tsx';
import { actOnJob } from '../../lib/act-on-job.ts';
import { client } from '../../lib/client.ts';
import { errorClassWords } from '../../lib/error-class-words.ts';
import { formatCount, formatDuration } from '../../lib/format.ts';
import { canRerun, costPerRow, formatOf, type ItemDetail, type Job } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import { ItemEditForm } from './item-edit-form.tsx';
import { RowNumber } from './row-number.tsx';
import { rowNumber } from '../../../src/contract/row-number.ts';
import { CopyButtons } from './story/copy-buttons.tsx';
import { StoryTimeline } from './story/story-timeline.tsx';
import { useNeighbours } from './story/use-neighbours.ts';
import { LargeImage } from './thumbnail.tsx';
import { useJobChange } from './use-job-change.ts';
import { useJobSearch } from './use-job-search.ts';
import { ValueList } from './value-list.tsx';

const REFRESH_MS = 3000;

export function ItemDrawer({ job }: { job: Job }) {
  const [{ row }, change] = useJobSearch();
  const close = () => change({ row: undefined });
  return (
    <Dialog
      open={row !== undefined}
      onClose={close}
      side
      title={row !== undefined && <Title job={job} seq={row} onGo={(seq) => change({ row: seq })} />}
    >
      {row !== undefined && <Detail key={row} job={job} seq={row} />}
    </Dialog>
  );
}

function Title({ job, seq, onGo }: { job: Job; seq: number; onGo: (seq: number) => void }) {
  const { isFiltered, previous, next } = useNeighbours(job, seq);
  const row = isFiltered ? 'matching row' : 'row';
  return (
    <span className="flex items-center gap-1">
      <span className="mr-2">Row {rowNumber(seq)}</span>
      <Button
        kind="quiet"
        size="small"
        aria-label={`Previous ${row}`}
        title={`Previous ${row}`}
        disabled={previous === null}
        onClick={() => previous !== null && onGo(previous)}
      >
        <ChevronLeft size={16} aria-hidden />
      </Button>
      <Button
        kind="quiet"
        size="small"
        aria-label={`Next ${row}`}
        title={`Next ${row}`}
        disabled={next === null}
        onClick={() => next !== null && onGo(next)}
      >
        <ChevronRight size={16} aria-hidden />
      </Button>
    </span>
  );
}

function Detail({ job, seq }: { job: Job; seq: number }) {
  const { jobId } = job;
  const canEdit = usePermission().can('reprocessJob');
  const [isEditing, setEditing] = useState(false);
  const query = useQuery({
    queryKey: ['job', jobId, 'item', seq],
    queryFn: ({ signal }) => client.getItem({ jobId, seq }, { signal }),
  });
  const trace = useQuery({
    queryKey: ['job', jobId, 'item', seq, 'trace'],
    queryFn: ({ signal }) => client.getItemTrace({ jobId, seq }, { signal }),
  });
  const item = query.data;
  const attempts = trace.data?.attempts ?? [];
  useJobChange(jobId, REFRESH_MS, () => {
    if (item?.now === 'ENDED') return;
    void query.refetch();
    void trace.refetch();
  });
  const inputOrder = job.columns.map(({ key }) => key);
  if (query.isError && !item) return <FailureNote error={query.error} />;
  if (!item) return <p className="text-muted">Loading…</p>;
  return (
    <div className="flex flex-col gap-5">
      <Facts job={job} item={item} />
      <div className="flex flex-wrap items-center gap-2">
        {canEdit && !isEditing && <RerunButtons job={job} item={item} onEdit={() => setEditing(true)} />}
        <CopyButtons job={job} item={item} attempts={attempts} />
      </div>
      {item.error !== null && (
        <div className="rounded-md bg-bad-soft px-3 py-2 text-bad">
          <p className="break-words whitespace-pre-wrap">{item.error}</p>
          {item.errorClass && <p className="text-[13px]">{errorClassWords(item.errorClass)}</p>}
        </div>
      )}
      <RowImage job={job} item={item} />
      <Part title="Input">
        {isEditing ? (
          <ItemEditForm job={job} item={item} onClose={() => setEditing(false)} />
        ) : (
          <ValueList value={item.input} order={inputOrder} />
        )}
      </Part>
      {item.result !== null && (
        <Part title="Result">
          <ValueList value={item.result} order={job.resultColumns} />
        </Part>
      )}
      {trace.isError ? (
        <FailureNote error={trace.error} />
      ) : trace.data ? (
        <StoryTimeline job={job} item={item} attempts={attempts} />
      ) : (
        <p className="text-muted">Loading…</p>
      )}
      <Lineage item={item} />
    </div>
  );
}

interface RerunButtonsProps {
  job: Job;
  item: ItemDetail;
  onEdit: () => void;
}

function RerunButtons({ job, item, onEdit }: RerunButtonsProps) {
  const { jobId, generation } = job;
  const { seq } = item;
  const [isBusy, setBusy] = useState(false);
  const canRun = canRerun(job.state) && item.now === 'ENDED';
  const each = costPerRow(job);
  const hint = canRun
    ? `Runs this row again${each === null ? '' : ` (≈ ${formatCost(each, job.costUnit)})`}`
    : 'Available when the job is finished or paused';
  const retry = async () => {
    setBusy(true);
    await actOnJob(jobId, `Rerunning row ${formatCount(rowNumber(seq))}`, () =>
      client.reprocessJob({
        jobId,
        scope: 'items',
        itemIds: [seq],
        includePermanent: true,
        resetAttempts: true,
        ifGeneration: generation,
      }),
    );
    setBusy(false);
  };
  return (
    <>
      <Button size="small" disabled={!canRun || isBusy} title={hint} onClick={() => void retry()}>
        <RotateCcw size={14} aria-hidden /> Rerun as is
      </Button>
      <Button size="small" disabled={!canRerun(job.state)} title={hint} onClick={onEdit}>
        <Pencil size={14} aria-hidden /> Edit & rerun
      </Button>
    </>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <h3 className="text-[13px] font-semibold">{title}</h3>
      {children}
    </section>
  );
}

function RowImage({ job, item }: { job: Job; item: ItemDetail }) {
  const keys = imageKeys(job.columns, formatOf(job.source));
  const input = item.originalInput as Record<string, unknown> | null;
  // Rows added by other rows have no image of their own.
  if (!keys || item.parent || typeof input?.[keys.blob] !== 'string') return null;
  return (
    <Part title="Image">
      <LargeImage jobId={job.jobId} seq={item.seq} name={String(input[keys.name] ?? '')} />
    </Part>
  );
}

function Facts({ job, item }: { job: Job; item: ItemDetail }) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-[13px] text-muted">
      <StatusChip status={item.now === 'ENDED' ? item.status : item.now} />
      {item.line !== null && <span>{lineWords(job.source, item.line)}</span>}
      {item.phase !== null && <span>Phase {job.phases[item.phase] ?? item.phase}</span>}
      {item.attempts !== null && item.attempts > 0 && (
        <span>
          {formatCount(item.attempts)} {item.attempts === 1 ? 'attempt' : 'attempts'}
        </span>
      )}
      {item.handlerMs !== null && <span>{formatDuration(item.handlerMs)}</span>}
      {item.cost !== null && item.cost > 0 && <span>cost {formatCost(item.cost, item.costUnit)}</span>}
      {item.lockedBy !== null && <span>on {item.lockedBy}</span>}
      {item.readyAt !== null && item.now === 'RETRYING' && (
        <span>
          retrying <RelativeTime at={item.readyAt} />
        </span>
      )}
      {item.finishedAt !== null && (
        <span>
          finished <RelativeTime at={item.finishedAt} />
        </span>
      )}
    </div>
  );
}

/** "line 7 of prices.csv", or for a workbook "row 7 of sheet Q3". */
function lineWords(source: Job['source'], line: number): string {
  const sheet = source?.detected.sheet;
  if (typeof sheet === 'string') return `row ${formatCount(line)} of sheet ${sheet}`;
  return `line ${formatCount(line)}${source ? ` of ${source.name}` : ''}`;
}

function Lineage({ item }: { item: ItemDetail }) {
  if (!item.parent && item.childCount === 0) return null;
  return (
    <Part title="Related rows">
      {item.parent && (
        <p>
          Added by <RowNumber seq={item.parent.seq} /> (level {item.parent.depth})
        </p>
      )}
      {item.childCount > 0 && (
        <>
          <p>
            Added {formatCount(item.childCount)} {item.childCount === 1 ? 'row' : 'rows'}:
          </p>
          <ul className="flex flex-col gap-1 border-l-2 border-line pl-3">
            {item.children.map(({ seq, summary, status }) => (
              <li key={seq} className="flex items-center gap-2">
                <RowNumber seq={seq} />
                <StatusChip status={status} />
                <span className="truncate text-muted">{summary}</span>
              </li>
            ))}
            {item.childCount > item.children.length && (
              <li className="text-muted">and {formatCount(item.childCount - item.children.length)} more</li>
            )}
          </ul>
        </>
      )}
    </Part>
  );
}
