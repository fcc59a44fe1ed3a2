import { expect, test } from 'vitest';
import { type Attempt, entryWords, otherParts, rowStory } from './row-story.ts';

const attempt = (given: Partial<Attempt>): Attempt => ({
  generation: 1,
  phase: 0,
  phaseName: 'fetch',
  attempt: 1,
  outcome: 'done',
  workerId: null,
  startedAt: null,
  endedAt: null,
  durationMs: null,
  waitedMs: null,
  waitedFor: null,
  retryAfterMs: null,
  cost: null,
  strategy: null,
  errorClass: null,
  error: null,
  thrown: null,
  log: [],
  droppedLines: 0,
  fetches: [],
  droppedFetches: 0,
  ...given,
});

const result = (generation: number, status: 'DONE' | 'ERROR') => ({
  generation,
  phase: 1,
  attempt: 1,
  status,
  handlerMs: 5,
  cost: null,
  errorClass: null,
  error: null,
  result: null,
  finishedAt: '2026-01-01T00:00:00Z',
});

test('a story has the runs in order, each with its edit, attempts, outputs and result', () => {
  const attempts = [
    attempt({ outcome: 'retry' }),
    attempt({ attempt: 2, outcome: 'advanced' }),
    attempt({ phase: 1, outcome: 'error' }),
    attempt({ generation: 2, phase: 1, outcome: 'done' }),
  ];
  const story = rowStory(
    {
      edits: [{ generation: 2, input: {}, editedAt: '2026-01-02T00:00:00Z' }],
      stages: [{ generation: 1, phase: 0, output: { id: 7 } }],
      results: [result(2, 'DONE'), result(1, 'ERROR')],
    },
    attempts,
  );
  expect(story.map(({ generation, editedAt }) => [generation, editedAt])).toEqual([
    [1, null],
    [2, '2026-01-02T00:00:00Z'],
  ]);
  expect(story[0]!.attempts.map(({ output }) => output)).toEqual([undefined, { id: 7 }, undefined]);
  expect(story.map((run) => run.result?.status)).toEqual(['ERROR', 'DONE']);
});

test('parts of an attempt that the page does not know are kept, empty ones are not', () => {
  const newer = {
    ...attempt({}),
    calls: [{ method: 'GET', status: 503, body: null }],
    waits: [],
    region: 'eu',
  };
  const parts = otherParts(newer);
  expect(parts.map(([name]) => name)).toEqual(['calls', 'region']);
  expect(parts.flatMap(([, entries]) => entries.map(entryWords))).toEqual(['method GET · status 503', 'eu']);
});
