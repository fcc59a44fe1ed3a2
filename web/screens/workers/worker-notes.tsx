// Whether a worker is online and slowed down: a plain sentence, and the technical reason one click away.
import type { z } from 'zod';
import type { worker } from '../../../src/contract/operations.ts';
import { classNames } from '../../lib/class-names.ts';
import { formatPercent } from '../../lib/format.ts';

type Pressure = z.infer<typeof worker>['pressure'];

export function OnlineChip({ alive }: { alive: boolean }) {
  return (
    <span
      className={`rounded-full px-2 py-0.5 text-xs font-medium ${alive ? 'bg-good-soft text-good' : 'bg-quiet-soft text-quiet'}`}
    >
      {alive ? 'Online' : 'Offline'}
    </span>
  );
}

/** By the name of the signal that the reason starts with (core/limits/back-pressure.ts). */
const CAUSES: Record<string, string> = {
  flushMs: 'the database stores results slowly',
  poolWaitMs: 'it waits for database connections',
  loopDelayMs: 'the machine is busy',
  memory: 'it is short of memory',
};

export function PressureNote({ pressure, className }: { pressure: Pressure; className?: string }) {
  if (pressure === null || pressure.share >= 1) return null;
  const { share, reason } = pressure;
  const cause = CAUSES[reason.split(' ')[0]!];
  return (
    <details className={classNames('bg-warn-soft px-4 py-2 text-warn', className)}>
      <summary className="cursor-pointer">
        Running slower, at {formatPercent(share)} of its slots{cause && `: ${cause}`}
      </summary>
      <p className="mt-1 text-[13px]">{reason}</p>
    </details>
  );
}
