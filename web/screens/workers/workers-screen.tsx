// Worker processes with their slots, assigned rows and throttling.
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { z } from 'zod';
import type { worker as workerSchema } from '../../../src/contract/operations.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { client } from '../../lib/client.ts';
import { formatCount, formatPercent } from '../../lib/format.ts';

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
      {workers.isPending && <p className="text-muted">Loading…</p>}
      {workers.isSuccess && listed.length === 0 && (
        <EmptyState title="No workers yet">
          <p>Workers run pipelines. Start one with access to the database:</p>
          <pre className="mt-3 rounded-md bg-sunken p-3 text-left font-mono text-xs break-words whitespace-pre-wrap">
            rowmill worker pipelines/price-lookup.ts
          </pre>
        </EmptyState>
      )}
      {listed.map((worker) => (
        <WorkerCard key={worker.workerId} worker={worker} />
      ))}
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
        <h2 className="min-w-0 truncate font-semibold" title={worker.workerId}>
          {name}
        </h2>
        <span
          className={`rounded-full px-2 py-0.5 text-xs font-medium ${alive ? 'bg-good-soft text-good' : 'bg-quiet-soft text-quiet'}`}
        >
          {alive ? 'Online' : 'Offline'}
        </span>
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
      {alive && pressure && pressure.share < 1 && (
        <p className="border-b border-line bg-warn-soft px-4 py-2 text-warn">
          Throttled to {formatPercent(pressure.share)}: {pressure.reason}
        </p>
      )}
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

type Pool = Worker['pools'][number];

const COUNTS: readonly (readonly [words: string, meaning: string, (pool: Pool) => number])[] = [
  ['Busy', 'Slots that run a row', ({ busy }) => busy],
  ['Idle', 'Slots with nothing to do', ({ idle }) => idle],
  ['Hung', 'Timed-out calls that are still running', ({ error }) => error],
  // Rows that wait for a resource are included in the queue.
  [
    'Waiting for slot',
    'Rows assigned to the worker that wait for a slot',
    (pool) => pool.queued - pool.waiting,
  ],
  [
    'Waiting for rate limit',
    'Rows assigned to the worker that wait for a resource',
    ({ waiting }) => waiting,
  ],
];

function PoolTable({ worker: { name, pools, alive } }: { worker: Worker }) {
  return (
    <section aria-label={`Pools of ${name}`} tabIndex={0} className="relative overflow-x-auto">
      <table className="w-full text-left">
        <thead className="text-[13px] text-muted">
          <tr>
            <th scope="col" className="px-4 py-2 font-medium">
              Pool
            </th>
            <th scope="col" className="w-40 px-3 py-2 font-medium">
              Slots
            </th>
            {COUNTS.map(([words, meaning]) => (
              <th
                key={words}
                scope="col"
                title={meaning}
                className="px-3 py-2 text-right font-medium whitespace-nowrap"
              >
                {words}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className={alive ? '' : 'text-muted'}>
          {pools.map((pool) => (
            <tr key={`${pool.pipeline} ${pool.phase}`} className="border-t border-line">
              <th scope="row" className="px-4 py-2 font-normal whitespace-nowrap">
                {pool.pipeline} <span className="text-muted">/ {pool.phase}</span>
              </th>
              <td className="min-w-28 px-3">
                <SlotBar pool={pool} />
              </td>
              {COUNTS.map(([words, , countOf]) => (
                <td
                  key={words}
                  className={`px-3 text-right tabular-nums ${words === 'Hung' && pool.error > 0 ? 'text-bad' : ''}`}
                >
                  {formatCount(countOf(pool))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function SlotBar({ pool: { idle, busy, error } }: { pool: Pool }) {
  const total = idle + busy + error;
  const width = (part: number) => ({ width: `${total === 0 ? 0 : (part / total) * 100}%` });
  return (
    <div
      role="img"
      aria-label={`${busy} of ${idle + busy} slots in use, ${error} hung`}
      className="flex h-2 overflow-hidden rounded-full bg-quiet-soft"
    >
      <div className="bg-info" style={width(busy)} />
      <div className="bg-bad" style={width(error)} />
    </div>
  );
}
