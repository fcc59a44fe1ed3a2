// Worker processes with their slots, assigned rows and throttling.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { z } from 'zod';
import type { worker as workerSchema } from '../../../src/contract/operations.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Stale } from '../../components/stale.tsx';
import { client } from '../../lib/client.ts';
import { formatCount } from '../../lib/format.ts';
import { PoolTable } from './pool-table.tsx';
import { OnlineChip, PressureNote } from './worker-notes.tsx';

type Worker = z.infer<typeof workerSchema>;

/** Heartbeats come every few seconds; polled only while the page is visible. */
const REFRESH_MS = 5000;

export function WorkersScreen() {
  const workers = useQuery({
    queryKey: ['workers'],
    queryFn: ({ signal }) => client.listWorkers({}, { signal }),
    refetchInterval: REFRESH_MS,
  });
  const listed = workers.data?.items ?? [];
  const online = listed.filter((worker) => worker.alive);
  return (
    <Page
      title="Workers"
      intro={
        listed.length > 0 &&
        `${formatCount(online.length)} online · ${formatCount(slots(online, 'busy'))} of ${formatCount(
          slots(online, 'busy') + slots(online, 'idle'),
        )} slots in use`
      }
    >
      {workers.isError && <FailureNote error={workers.error} />}
      {workers.isPending && <Loading />}
      {workers.isSuccess && listed.length === 0 && (
        <EmptyState title="No workers yet">
          <p>Workers run pipelines. Start one with access to the database:</p>
          <pre className="mt-3 rounded-md bg-sunken p-3 text-left font-mono text-xs break-words whitespace-pre-wrap">
            rowmill worker pipelines/price-lookup.ts
          </pre>
        </EmptyState>
      )}
      {listed.length > 0 && (
        <Stale atMs={workers.dataUpdatedAt}>
          {listed.map((worker) => (
            <WorkerCard key={worker.workerId} worker={worker} />
          ))}
        </Stale>
      )}
    </Page>
  );
}

function slots(workers: readonly Worker[], kind: 'idle' | 'busy'): number {
  return workers.flatMap(({ pools }) => pools).reduce((sum, pool) => sum + pool[kind], 0);
}

function WorkerCard({ worker }: { worker: Worker }) {
  const { name, version, alive, pools, pressure } = worker;
  return (
    <article className="rounded-lg border border-line bg-surface" aria-label={`Worker ${name}`}>
      <header className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-3">
        <h2 className="min-w-0 truncate font-semibold">
          <Link to="/workers/$workerId" params={{ workerId: worker.workerId }} className="hover:underline">
            {name}
          </Link>
        </h2>
        <OnlineChip alive={alive} />
        <dl className="flex flex-wrap gap-x-4 text-[13px] text-muted">
          <Fact name="Version">{version}</Fact>
          <Fact name="Last seen">
            <RelativeTime at={worker.heartbeatAt} />
          </Fact>
          <Fact name="Started">
            <RelativeTime at={worker.startedAt} />
          </Fact>
          <Fact name="Assigned rows">{formatCount(worker.leasedItems)}</Fact>
        </dl>
      </header>
      {alive && <PressureNote pressure={pressure} className="border-b border-line" />}
      {pools.length === 0 ? (
        <p className="px-4 py-3 text-muted">Runs {worker.pipelines.join(', ') || 'nothing'}.</p>
      ) : (
        <PoolTable worker={worker} />
      )}
    </article>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex gap-1">
      <dt>{name}</dt>
      <dd className="text-text">{children}</dd>
    </div>
  );
}
