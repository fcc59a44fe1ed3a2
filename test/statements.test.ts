// Checks the SQL text of the store. test/engine/control.test.ts runs the statements that change the state of a job.
import { expect, test } from 'vitest';
import { TRANSITIONS } from '../src/core/jobs/job-state.ts';
import { readSources } from './support/read-sources.ts';

const sources = readSources().filter(({ path }) => path.startsWith('src/store/'));

/** Transitions that a file names with canGo, for all its statements together. */
const namesOf = (code: string): string[] => [...code.matchAll(/canGo\('(\w+)'/g)].map((match) => match[1]!);

// Matches an `update jobs` that sets the state before its `where`.
const SETS_STATE = /update jobs( j)?\s+set (?:(?!\bwhere\b)[\s\S])*?\bstate = /;

test('every statement that changes the state of a job names its transition', () => {
  const changing = sources.filter(({ code }) => SETS_STATE.test(code));
  expect(changing.filter(({ code }) => namesOf(code).length === 0).map(({ path }) => path)).toEqual([]);
  expect(new Set(changing.flatMap(({ code }) => namesOf(code)))).toEqual(new Set(Object.keys(TRANSITIONS)));
});

test('no statement contains a list of job states', () => {
  const list = /state (not )?in \('(INGESTING|QUEUED|RUNNING|PAUSED|FINALIZING|CANCELLING)'/;
  expect(sources.filter(({ code }) => list.test(code)).map(({ path }) => path)).toEqual([]);
});

// node-postgres refuses a second text under the name of a prepared statement.
test('no two statements have the same name', () => {
  const names = sources.flatMap(({ code }) =>
    [...code.matchAll(/Statement = \{\s*name: '([^']+)'/g)].map((match) => match[1]!),
  );
  expect(names.length).toBeGreaterThan(250);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});
