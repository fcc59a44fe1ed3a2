// Input file, result files and exports of a job.
import { useQuery } from '@tanstack/react-query';
import { Copy, Download, FileDown } from 'lucide-react';
import { useEffect } from 'react';
import { Button, buttonClass } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StatusChip } from '../../components/status-chip.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { actOnJob } from '../../lib/act-on-job.ts';
import { client, queries } from '../../lib/client.ts';
import { copyText } from '../../lib/copy-text.ts';
import { formatBytes, formatCount } from '../../lib/format.ts';
import type { Job, JobFile } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import { basePath } from '../../lib/server-page.ts';
import { FailedScreen } from '../failed-screen.tsx';
import { contentWords, type FileGroup, filesByRun } from './files-by-run.ts';

/** Polled while a file is being prepared: no event reports when it is ready. */
const LOOK_MS = 2000;

export function FilesTab({ job }: { job: Job }) {
  const { jobId } = job;
  const { can } = usePermission();
  const files = useQuery({
    queryKey: ['job', jobId, 'files'],
    queryFn: ({ signal }) => client.listFiles({ jobId }, { signal }),
  });
  const isPreparing = files.data?.items.some(({ state }) => state === 'PREPARING') ?? false;
  useEffect(() => {
    if (!isPreparing) return;
    const timer = setInterval(
      () => void queries.invalidateQueries({ queryKey: ['job', jobId, 'files'] }),
      LOOK_MS,
    );
    return () => clearInterval(timer);
  }, [isPreparing, jobId]);
  if (files.isError && !files.data) return <FailedScreen error={files.error} />;
  if (!files.data) return <p className="text-muted">Loading…</p>;
  const prepare = (format: 'csv' | 'xlsx' | 'jsonl') =>
    void actOnJob(jobId, 'Preparing file', () => client.prepareExport({ jobId, format }));
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 basis-64 text-muted">
          {can('exportJob') && 'To download a subset, filter the Rows tab and use Export view.'}
        </p>
        {can('prepareExport') && (
          <Menu
            label={
              <>
                <FileDown size={15} aria-hidden /> Generate file
              </>
            }
          >
            <MenuItem onSelect={() => prepare('csv')}>All rows as CSV</MenuItem>
            <MenuItem onSelect={() => prepare('xlsx')}>All rows as Excel (XLSX)</MenuItem>
            <MenuItem onSelect={() => prepare('jsonl')}>All rows as JSON Lines</MenuItem>
          </Menu>
        )}
      </div>
      {files.data.items.length === 0 ? (
        <EmptyState title="No files yet">Result files and exports appear here.</EmptyState>
      ) : (
        filesByRun(files.data.items, job.generation).map((group) => (
          <Group key={group.title} jobId={jobId} group={group} />
        ))
      )}
    </div>
  );
}

function Group({ jobId, group: { title, isEarlier, files } }: { jobId: string; group: FileGroup }) {
  const list = (
    <ul aria-label={title} className="overflow-hidden rounded-lg border border-line bg-surface">
      {files.map((file) => (
        <FileLine key={file.fileId} jobId={jobId} file={file} />
      ))}
    </ul>
  );
  if (!isEarlier)
    return (
      <section aria-label={title} className="flex flex-col gap-1.5">
        <h2 className="font-semibold">{title}</h2>
        {list}
      </section>
    );
  return (
    <details className="flex flex-col">
      <summary className="w-fit cursor-pointer py-1 text-muted hover:text-text">{title}</summary>
      <div className="pt-1.5">{list}</div>
    </details>
  );
}

function FileLine({ jobId, file }: { jobId: string; file: JobFile }) {
  const { fileId, downloadName: name, bytes, sha256, state, error, rows, createdAt, expiresAt } = file;
  const contents = contentWords(file);
  const whyNot = usePermission().whyNot('downloadFile');
  const copy = () => void copyText(sha256 ?? '').then(() => say('Checksum copied'), sayError);
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-72">
        <p className="flex flex-wrap items-center gap-x-2">
          <span className="font-medium break-all">{name}</span>
          {state !== 'READY' && <StatusChip status={state} />}
        </p>
        <p className="flex flex-wrap gap-x-3 text-[13px] text-muted tabular-nums">
          {contents !== '' && <span>{contents}</span>}
          {bytes !== null && <span>{formatBytes(bytes)}</span>}
          {rows !== null && (
            <span>
              {formatCount(rows)} {rows === 1 ? 'row' : 'rows'}
            </span>
          )}
          <RelativeTime at={createdAt} />
          {expiresAt !== null && (
            <span>
              deleted <RelativeTime at={expiresAt} />
            </span>
          )}
        </p>
        {sha256 !== null && (
          <details className="text-xs text-muted">
            <summary className="w-fit cursor-pointer hover:text-text">
              Checksum<span className="sr-only"> of {name}</span>
            </summary>
            <p className="flex items-center gap-1">
              <span className="truncate font-mono" title={sha256}>
                SHA-256 {sha256}
              </span>
              <button
                type="button"
                aria-label={`Copy checksum of ${name}`}
                onClick={copy}
                className="shrink-0 rounded p-1 hover:bg-sunken hover:text-text"
              >
                <Copy size={12} aria-hidden />
              </button>
            </p>
          </details>
        )}
        {error !== null && <p className="text-[13px] break-words text-bad">{error}</p>}
      </div>
      {state === 'READY' && whyNot !== null ? (
        <Button disabled title={whyNot}>
          <Download size={15} aria-hidden /> Download
        </Button>
      ) : state === 'READY' ? (
        <a
          href={`${basePath}/api/v1/jobs/${jobId}/files/${encodeURIComponent(fileId)}`}
          download
          aria-label={`Download ${name}`}
          className={buttonClass('plain', 'normal')}
        >
          <Download size={15} aria-hidden /> Download
        </a>
      ) : (
        <Button disabled>{state === 'PREPARING' ? 'Preparing…' : 'Failed'}</Button>
      )}
    </li>
  );
}
