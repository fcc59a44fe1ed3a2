// The story of a row, run by run: edit of its input, attempts with their waits and phase outputs, result.
import type { Answered } from '../../../../src/client/route-call.ts';
import type { Routes } from '../../../../src/contract/routes.ts';
import type { ItemDetail } from '../../../lib/job.ts';

export type Attempt = Answered<Routes['getItemTrace']>['attempts'][number];

export interface StoryAttempt {
  attempt: Attempt;
  /** Output of the phase, if the attempt completed it. */
  output: unknown;
}

export interface StoryRun {
  generation: number;
  /** When the input was edited for this run. */
  editedAt: string | null;
  attempts: StoryAttempt[];
  result: ItemDetail['results'][number] | null;
}

type Told = Pick<ItemDetail, 'edits' | 'stages' | 'results'>;

/** Runs in which something happened to the row, the first one first. */
export function rowStory(item: Told, attempts: readonly Attempt[]): StoryRun[] {
  const generations = new Set([
    ...item.edits.map(({ generation }) => generation),
    ...attempts.map(({ generation }) => generation),
    ...item.results.map(({ generation }) => generation),
  ]);
  return [...generations]
    .toSorted((a, b) => a - b)
    .map((generation) => ({
      generation,
      editedAt: item.edits.find((edit) => edit.generation === generation)?.editedAt ?? null,
      attempts: attempts
        .filter((attempt) => attempt.generation === generation)
        .map((attempt) => ({ attempt, output: outputOf(item.stages, attempt) })),
      result: item.results.find((result) => result.generation === generation) ?? null,
    }));
}

function outputOf(stages: ItemDetail['stages'], { outcome, generation, phase }: Attempt): unknown {
  if (outcome !== 'advanced') return undefined;
  return stages.find((stage) => stage.generation === generation && stage.phase === phase)?.output;
}

const KNOWN: Record<keyof Attempt, true> = {
  generation: true,
  phase: true,
  phaseName: true,
  attempt: true,
  outcome: true,
  workerId: true,
  startedAt: true,
  endedAt: true,
  durationMs: true,
  waitedMs: true,
  waitedFor: true,
  retryAfterMs: true,
  cost: true,
  strategy: true,
  errorClass: true,
  error: true,
  thrown: true,
  log: true,
  droppedLines: true,
  fetches: true,
  droppedFetches: true,
};

/** Parts of an attempt that this page has no own view for, such as those of a newer server. Empty ones are left out. */
export function otherParts(attempt: Attempt): [name: string, entries: unknown[]][] {
  return Object.entries(attempt as Record<string, unknown>).flatMap(([name, value]) => {
    if (Object.hasOwn(KNOWN, name) || value === null || value === undefined || value === 0) return [];
    const entries = Array.isArray(value) ? (value as unknown[]) : [value];
    return entries.length === 0 ? [] : [[name, entries] as [string, unknown[]]];
  });
}

/** { method: 'GET', status: 503 } becomes "method GET · status 503". */
export function entryWords(entry: unknown): string {
  if (entry === null || typeof entry !== 'object' || Array.isArray(entry)) return valueText(entry);
  return Object.entries(entry)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${valueText(value)}`)
    .join(' · ');
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
