// Configured file sources, with a manual scan.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FolderSearch } from 'lucide-react';
import { useState } from 'react';
import type { Answered } from '../../../src/client/route-call.ts';
import type { Routes } from '../../../src/contract/routes.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { cellClass, rowClass, Table } from '../../components/table.tsx';
import { client, queries } from '../../lib/client.ts';
import { formatCount } from '../../lib/format.ts';
import { usePermission } from '../../lib/permission.ts';

type Report = Answered<Routes['scanSources']>['items'][number];

export function SourcesTab() {
  const canScan = usePermission().can('scanSources');
  const sources = useQuery({
    queryKey: ['sources'],
    queryFn: ({ signal }) => client.listSources({}, { signal }),
  });
  const [scanning, setScanning] = useState<readonly string[]>([]);
  const [reports, setReports] = useState<ReadonlyMap<string, Report>>(new Map());
  const [error, setError] = useState<unknown>(null);
  const listed = sources.data?.items ?? [];
  const scan = async (names: readonly string[]) => {
    setScanning(names);
    setError(null);
    try {
      const { items } = await client.scanSources({ sources: [...names] });
      setReports((before) => new Map([...before, ...items.map((each) => [each.source, each] as const)]));
      void queries.invalidateQueries({ queryKey: ['jobs'] });
    } catch (failure) {
      setError(failure);
    }
    setScanning([]);
  };
  if (sources.isError && !sources.data) return <FailureNote error={sources.error} />;
  if (!sources.data) return <Loading />;
  if (listed.length === 0)
    return (
      <EmptyState title="No sources">
        Watched folders, buckets and servers are set in the server configuration.
      </EmptyState>
    );
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 basis-64 text-muted">New files become jobs automatically.</p>
        {canScan && listed.length > 1 && (
          <Button disabled={scanning.length > 0} onClick={() => void scan(listed.map(({ name }) => name))}>
            <FolderSearch size={16} aria-hidden /> Scan all now
          </Button>
        )}
      </div>
      {error !== null && <FailureNote error={error} />}
      <Table label="Sources" headings={['Name', 'Kind', 'Pipeline', 'Found', '']}>
        {listed.map(({ name, kind, pipeline }) => (
          <tr key={name} className={rowClass}>
            <th scope="row" className={`${cellClass} font-medium`}>
              {name}
            </th>
            <td className={cellClass}>{kind}</td>
            <td className={cellClass}>{pipeline}</td>
            <td className={`${cellClass} min-w-48`} aria-live="polite">
              {scanning.includes(name) ? 'Scanning…' : <Found report={reports.get(name)} />}
            </td>
            <td className={`${cellClass} text-right`}>
              {canScan && (
                <Button size="small" disabled={scanning.length > 0} onClick={() => void scan([name])}>
                  Scan now<span className="sr-only"> {name}</span>
                </Button>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}

function Found({ report }: { report: Report | undefined }) {
  if (!report) return null;
  const { jobs, waiting, failed } = report;
  if (jobs.length + waiting + failed.length === 0) return <span className="text-muted">Nothing new</span>;
  return (
    <ul className="flex flex-col gap-1">
      {jobs.map(({ jobId, path }) => (
        <li key={jobId}>
          <Link to="/jobs/$jobId" params={{ jobId }} className="font-medium hover:underline">
            {path}
          </Link>{' '}
          created job
        </li>
      ))}
      {waiting > 0 && <li className="text-muted">{formatCount(waiting)} still being written</li>}
      {failed.map(({ path, error }) => (
        <li key={`${path} ${error}`} className="break-words text-bad">
          {path !== '' && `${path}: `}
          {error}
        </li>
      ))}
    </ul>
  );
}
