// The panel of one row: input, result, phase outputs, attempts, runs, edits and related rows.
import { useQuery } from '@tanstack/react-query';
import { ChevronLeft, ChevronRight, Pencil } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { imageKeys } from '../../../src/contract/image-keys.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StatusChip } from '../../components/status-chip.tsx';
import { client } from '../../lib/client.ts';
import { errorClassWords } from '../../lib/error-class-words.ts';
import { formatCost, formatCount, formatDuration } from '../../lib/format.ts';
import { canRerun, formatOf, type ItemDetail, type Job } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import { ItemEditForm } from './item-edit-form.tsx';
import { RowNumber } from './row-number.tsx';
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
      title={
        row !== undefined && (
          <span className="flex items-center gap-1">
            <span className="mr-2">Row {row}</span>
            <Button
              kind="quiet"
              size="small"
              aria-label="Previous row"
              disabled={row === 0}
              onClick={() => change({ row: row - 1 })}
            >
              <ChevronLeft size={16} aria-hidden />
            </Button>
            <Button
              kind="quiet"
              size="small"
              aria-label="Next row"
              disabled={row >= job.itemCount - 1}
              onClick={() => change({ row: row + 1 })}
            >
              <ChevronRight size={16} aria-hidden />
            </Button>
          </span>
        )
      }
    >
      {row !== undefined && <Detail key={row} job={job} seq={row} />}
    </Dialog>
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
  const item = query.data;
  useJobChange(jobId, REFRESH_MS, () => {
    if (item?.now !== 'ENDED') void query.refetch();
  });
  const inputOrder = job.columns.map(({ key }) => key);
  if (query.isError && !item) return <FailureNote error={query.error} />;
  if (!item) return <p className="text-muted">Loading…</p>;
  return (
    <div className="flex flex-col gap-5">
      <Facts job={job} item={item} />
      {item.error !== null && (
        <div className="rounded-md bg-bad-soft px-3 py-2 text-bad">
          <p className="break-words whitespace-pre-wrap">{item.error}</p>
          {item.errorClass && <p className="text-[13px]">{errorClassWords(item.errorClass)}</p>}
        </div>
      )}
      <RowImage job={job} item={item} />
      <Part
        title="Input"
        aside={
          canEdit &&
          !isEditing && (
            <Button
              size="small"
              disabled={!canRerun(job.state)}
              title={canRerun(job.state) ? undefined : 'Available when the job is finished or paused'}
              onClick={() => setEditing(true)}
            >
              <Pencil size={14} aria-hidden /> Edit & rerun
            </Button>
          )
        }
      >
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
      <Stages job={job} item={item} />
      <Attempts job={job} item={item} />
      <Runs job={job} item={item} />
      <Edits item={item} />
      <Lineage item={item} />
    </div>
  );
}

function Part({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section aria-label={title} className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-3">
        <h3 className="text-[13px] font-semibold">{title}</h3>
        {aside}
      </div>
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
      {item.phase !== null && <span>Phase {job.phases[item.phase] ?? item.phase}</span>}
      {item.attempts !== null && item.attempts > 0 && (
        <span>
          {formatCount(item.attempts)} {item.attempts === 1 ? 'attempt' : 'attempts'}
        </span>
      )}
      {item.handlerMs !== null && <span>{formatDuration(item.handlerMs)}</span>}
      {item.cost !== null && item.cost > 0 && <span>cost {formatCost(item.cost)}</span>}
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

function Stages({ job, item }: { job: Job; item: ItemDetail }) {
  if (item.stages.length === 0) return null;
  return (
    <Part title="Phase outputs">
      <ol className="flex flex-col gap-3">
        {item.stages.map(({ generation, phase, output }) => (
          <li key={`${generation} ${phase}`} className="flex flex-col gap-1">
            <p className="text-[13px] text-muted">
              {job.phases[phase] ?? phase}
              {job.generation > 1 && `, run ${generation}`}
            </p>
            <ValueList value={output} />
          </li>
        ))}
      </ol>
    </Part>
  );
}

function Attempts({ job, item }: { job: Job; item: ItemDetail }) {
  if (item.failures.length === 0) return null;
  return (
    <Part title="Failed attempts">
      <ol className="flex flex-col gap-2">
        {item.failures.map(({ generation, phase, attempt, errorClass, error, failedAt }) => (
          <li key={`${generation} ${phase} ${attempt}`} className="rounded-md border border-line px-3 py-2">
            <p className="flex flex-wrap gap-x-3 text-[13px] text-muted">
              <span className="font-medium text-text">Attempt {attempt}</span>
              {job.phases.length > 1 && <span>{job.phases[phase] ?? phase}</span>}
              {job.generation > 1 && <span>run {generation}</span>}
              <span>{errorClassWords(errorClass)}</span>
              <span className="ml-auto">
                <RelativeTime at={failedAt} />
              </span>
            </p>
            <p className="break-words whitespace-pre-wrap">{error}</p>
          </li>
        ))}
      </ol>
    </Part>
  );
}

function Runs({ job, item }: { job: Job; item: ItemDetail }) {
  if (job.generation === 1 || item.results.length === 0) return null;
  return (
    <Part title="History">
      <ol className="flex flex-col gap-2">
        {item.results.map((each) => (
          <li key={each.generation} className="flex flex-col gap-1 rounded-md border border-line px-3 py-2">
            <p className="flex flex-wrap items-center gap-x-3 text-[13px] text-muted">
              <span className="font-medium text-text">Run {each.generation}</span>
              <StatusChip status={each.status} />
              {each.handlerMs !== null && <span>{formatDuration(each.handlerMs)}</span>}
              <span className="ml-auto">
                <RelativeTime at={each.finishedAt} />
              </span>
            </p>
            {each.error !== null && <p className="break-words whitespace-pre-wrap text-bad">{each.error}</p>}
            {each.result !== null && <ValueList value={each.result} />}
          </li>
        ))}
      </ol>
    </Part>
  );
}

function Edits({ item }: { item: ItemDetail }) {
  if (item.edits.length === 0) return null;
  return (
    <Part title="Original input">
      <p className="text-[13px] text-muted">
        Edited {item.edits.length === 1 ? 'once,' : `${item.edits.length} times, last`}{' '}
        <RelativeTime at={item.edits.at(-1)!.editedAt} />.
      </p>
      <ValueList value={item.originalInput} />
    </Part>
  );
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
