// One worker: what it runs, what it holds, and how fast it is.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { z } from 'zod';
import type { workerDetail } from '../../../src/contract/operations.ts';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Section } from '../../components/section.tsx';
import { Stale } from '../../components/stale.tsx';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { formatBytes, formatCount } from '../../lib/format.ts';
import { workerRoute } from '../../routes/router.tsx';
import { FailedScreen } from '../failed-screen.tsx';
import { PoolTable } from './pool-table.tsx';
import { OnlineChip, PressureNote } from './worker-notes.tsx';

type WorkerDetail = z.infer<typeof workerDetail>;

const REFRESH_MS = 5000;

export function WorkerScreen() {
  const { workerId } = workerRoute.useParams();
  const worker = useQuery({
    queryKey: ['workers', workerId],
    queryFn: ({ signal }) => client.getWorker({ workerId }, { signal }),
    refetchInterval: REFRESH_MS,
  });
  if (worker.isError && !worker.data) return <FailedScreen error={worker.error} />;
  if (!worker.data) return <Loading isScreen />;
  const { data } = worker;
  return (
    <Page
      title={<span className="break-all">{data.name}</span>}
      intro={
        <Link to="/workers" className="hover:underline">
          All workers
        </Link>
      }
      actions={<OnlineChip alive={data.alive} />}
    >
      <Stale atMs={worker.dataUpdatedAt}>
        {data.alive && <PressureNote pressure={data.pressure} className="rounded-lg" />}
        <Facts worker={data} />
        <Section title="Pools">
          {data.pools.length === 0 ? <p className="text-muted">No slots</p> : <PoolTable worker={data} />}
        </Section>
        <Leases worker={data} />
      </Stale>
    </Page>
  );
}

function Facts({ worker }: { worker: WorkerDetail }) {
  const { host, process } = nameParts(worker.name);
  return (
    <Section>
      <dl className="grid gap-x-6 gap-y-2 sm:grid-cols-[auto_1fr]">
        <dt className="text-muted">Pipelines</dt>
        <dd>
          {worker.abilities.map(({ pipeline, version }) => (
            <span key={`${pipeline} ${version}`} className="mr-3 inline-block">
              {pipeline} {version !== null && <span className="text-muted">version {version}</span>}
            </span>
          ))}
        </dd>
        <dt className="text-muted">Throughput</dt>
        <dd>{formatCount(worker.rowsLastMinute)} rows in the last minute</dd>
        <dt className="text-muted">Last flush</dt>
        <dd>{worker.lastFlushAt ? <RelativeTime at={worker.lastFlushAt} /> : 'none in the last 2 min'}</dd>
        <dt className="text-muted">Memory</dt>
        <dd>{worker.memoryBytes === null ? '—' : formatBytes(worker.memoryBytes)}</dd>
        <dt className="text-muted">Last seen</dt>
        <dd>
          <RelativeTime at={worker.heartbeatAt} />
        </dd>
        <dt className="text-muted">Started</dt>
        <dd>
          <RelativeTime at={worker.startedAt} />
        </dd>
        <dt className="text-muted">Host</dt>
        <dd className="break-all">
          {host}
          {process !== null && <span className="text-muted">, process {process}</span>}
        </dd>
        <dt className="text-muted">Rowmill</dt>
        <dd>{worker.version}</dd>
      </dl>
    </Section>
  );
}

/** The default name is host and process id (platform/process-name.ts). */
function nameParts(name: string): { host: string; process: string | null } {
  const [, host, process] = /^(.+) pid (\d+)$/.exec(name) ?? [];
  return host === undefined ? { host: name, process: null } : { host, process: process! };
}

function Leases({ worker: { leases, leasedItems } }: { worker: WorkerDetail }) {
  return (
    <div className="flex flex-col gap-3">
      <h2 className="font-semibold">Assigned rows: {formatCount(leasedItems)}</h2>
      {leases.length === 0 ? (
        <p className="text-muted">{leasedItems > 0 ? 'All of other owners.' : 'None'}</p>
      ) : (
        <Table label="Assigned rows" headings={['Job', 'Step', 'Rows', 'Lease expires']} numbers={[2]}>
          {leases.map(({ jobId, jobName, phase, rows, expiresAt }, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a lease has no id here, and several may be equal
            <tr key={`${jobId} ${phase} ${place}`} className={rowClass}>
              <th scope="row" className={`${cellClass} max-w-80 truncate font-normal`}>
                <Link to="/jobs/$jobId" params={{ jobId }} className="hover:underline">
                  {jobName || jobId.slice(0, 8)}
                </Link>
              </th>
              <td className={cellClass}>{phase}</td>
              <td className={numberClass}>{formatCount(rows)}</td>
              <td className={`${cellClass} text-muted`}>
                <RelativeTime at={expiresAt} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </div>
  );
}
