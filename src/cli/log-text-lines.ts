// Log lines and attempts of rows as lines of text. Rows count from 1, as in `rowmill try`.
import type { z } from 'zod';
import type { itemTrace } from '../contract/traces.ts';
import type { jobLogLine } from '../contract/logs.ts';
import type { LineLevel } from '../core/items/log-lines.ts';
import { formatCost } from '../core/limits/format-cost.ts';
import { printable } from './progress-lines.ts';
import { describeMs } from './try/trace-lines.ts';

export type LoggedLine = z.infer<typeof jobLogLine>;
export type ShownTrace = z.infer<typeof itemTrace>;
type Attempt = ShownTrace['attempts'][number];

const WAITED_FOR = { retry: 'a retry', rate_limit: 'a rate limit', budget: 'a budget', slot: 'a slot' };
const RANK: Record<LineLevel, number> = { info: 0, warn: 1, error: 2 };

/** For programs: both numbers of the row. */
export function lineJson({ seq, ...line }: LoggedLine): string {
  return JSON.stringify({ row: seq + 1, seq, ...line });
}

export function lineText(
  { seq, phaseName, phase, attempt, at, level, message, fields }: LoggedLine,
  isOfRow: boolean,
): string {
  const time = at.replace('T', ' ').replace('Z', '');
  const where = isOfRow
    ? ' '
    : `  row ${seq + 1}, ${printable(phaseName ?? `phase ${phase}`)}${attempt > 1 ? `, attempt ${attempt}` : ''}: `;
  const values =
    fields === null || typeof fields !== 'object' || Object.keys(fields).length === 0
      ? ''
      : ` ${printable(JSON.stringify(fields))}`;
  return `${isOfRow ? '  ' : ''}${time}  ${level.padEnd(5)}${where}${printable(message)}${values}`;
}

export function attemptLine(attempt: Attempt, costUnit: string | null): string {
  const { phaseName, phase, generation, durationMs, waitedMs, waitedFor, cost, strategy } = attempt;
  return [
    `${printable(phaseName ?? `phase ${phase}`)}, attempt ${attempt.attempt}${generation > 1 ? `, run ${generation}` : ''}: ${attempt.outcome}`,
    ...(durationMs === null ? [] : [`took ${describeMs(durationMs)}`]),
    ...(waitedMs === null || waitedFor === null
      ? []
      : [`waited ${describeMs(waitedMs)} for ${WAITED_FOR[waitedFor]}`]),
    ...(cost === null ? [] : [`cost ${formatCost(cost, costUnit)}`]),
    ...(strategy === null ? [] : [`strategy ${printable(strategy)}`]),
  ].join(', ');
}

/** Null if the attempt did not fail. */
export function thrownLine({ errorClass, error, droppedLines }: Attempt): string | null {
  const dropped = droppedLines > 0 ? `  ${droppedLines} more lines were not stored` : null;
  if (errorClass === null) return dropped;
  const failed = `  ${errorClass}: ${printable(error ?? '')}`;
  return dropped === null ? failed : `${dropped}\n${failed}`;
}

/** Lines of this level and above. */
export function* linesOfAttempt(seq: number, attempt: Attempt, lowest: LineLevel): Generator<LoggedLine> {
  const { generation, phase, phaseName, startedAt } = attempt;
  const startedMs = startedAt === null ? 0 : Date.parse(startedAt);
  for (const { atMs, level, message, fields } of attempt.log) {
    if (RANK[level] < RANK[lowest]) continue;
    const at = new Date(startedMs + atMs).toISOString();
    yield { seq, generation, phase, phaseName, attempt: attempt.attempt, at, level, message, fields };
  }
}
