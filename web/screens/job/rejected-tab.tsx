// Lines of the file that could not become rows, with line number and reason.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { buttonClass } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { ShowMore } from '../../components/show-more.tsx';
import { cellClass, rowClass, Table } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { formatCount } from '../../lib/format.ts';
import type { Job } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import { basePath } from '../../lib/server-page.ts';
import { FailedScreen } from '../failed-screen.tsx';

export function RejectedTab({ job }: { job: Job }) {
  const { jobId } = job;
  const canExport = usePermission().can('exportJob');
  const count = job.ingestReport.rejected ?? 0;
  const rejected = useInfiniteQuery({
    queryKey: ['job', jobId, 'rejected', count],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listRejected(
        { jobId, pageSize: 100, ...(pageParam !== undefined && { after: pageParam }) },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  if (rejected.isError && !rejected.data) return <FailedScreen error={rejected.error} />;
  if (!rejected.data) return <p className="text-muted">Loading…</p>;
  const rows = rejected.data.pages.flatMap((page) => page.items);
  if (rows.length === 0)
    return (
      <EmptyState title="No unreadable lines">Lines we couldn't read appear here with the reason.</EmptyState>
    );
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 basis-64 text-muted">
          {formatCount(count)}{' '}
          {count === 1 ? "line couldn't be read and wasn't" : "lines couldn't be read and weren't"} included.
          Fix {count === 1 ? 'it' : 'them'} and upload as a new job.
        </p>
        {canExport && (
          <a
            href={`${basePath}/api/v1/jobs/${jobId}/export?kind=rejected&format=csv`}
            download
            className={buttonClass('plain', 'normal')}
          >
            <Download size={15} aria-hidden /> Download as CSV
          </a>
        )}
      </div>
      <Table label="Unreadable lines" headings={['Line', 'Reason', 'Original line']}>
        {rows.map(({ line, reason, raw }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: several may begin in one line, and none ever changes
          <tr key={`${line} ${place}`} className={rowClass}>
            <th scope="row" className={`${cellClass} font-normal tabular-nums`}>
              {formatCount(line)}
            </th>
            <td className={`${cellClass} min-w-48`}>{reason}</td>
            <td className={cellClass}>
              <code className="line-clamp-4 font-mono text-[13px] break-all whitespace-pre-wrap" title={raw}>
                {raw}
              </code>
            </td>
          </tr>
        ))}
      </Table>
      {rejected.isFetchNextPageError && <FailureNote error={rejected.error} />}
      <ShowMore of={rejected} />
    </div>
  );
}
