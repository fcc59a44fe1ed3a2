// Slot pools of a worker, as of its last heartbeat.
import type { z } from 'zod';
import type { worker as workerSchema } from '../../../src/contract/operations.ts';
import { formatCount } from '../../lib/format.ts';

type Worker = z.infer<typeof workerSchema>;
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

export function PoolTable({ worker: { name, pools, alive } }: { worker: Worker }) {
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
