// The statements of the store as text. test/engine/control.test.ts runs those that change the state of a job.
import { expect, test } from 'vitest';
import { TRANSITIONS } from '../src/core/jobs/job-state.ts';
import { readSources } from './support/read-sources.ts';

const sources = readSources().filter(({ path }) => path.startsWith('src/store/'));

/** Transitions that a file names with canGo, of all its statements together. */
const namesOf = (code: string): string[] => [...code.matchAll(/canGo\('(\w+)'/g)].map((match) => match[1]!);

// Whatever comes between `update jobs` and the condition: that a state is set there.
const SETS_STATE = /update jobs( j)?\s+set (?:(?!\bwhere\b)[\s\S])*?\bstate = /;

test('each that changes the state of a job names its transition', () => {
  const changing = sources.filter(({ code }) => SETS_STATE.test(code));
  expect(changing.filter(({ code }) => namesOf(code).length === 0).map(({ path }) => path)).toEqual([]);
  expect(new Set(changing.flatMap(({ code }) => namesOf(code)))).toEqual(new Set(Object.keys(TRANSITIONS)));
});

test('none writes down a list of job states', () => {
  const list = /state (not )?in \('(INGESTING|QUEUED|RUNNING|PAUSED|FINALIZING|CANCELLING)'/;
  expect(sources.filter(({ code }) => list.test(code)).map(({ path }) => path)).toEqual([]);
});

// node-postgres refuses a second text under a name that a connection has prepared.
test('no two have one name', () => {
  const names = sources.flatMap(({ code }) =>
    [...code.matchAll(/Statement = \{\s*name: '([^']+)'/g)].map((match) => match[1]!),
  );
  expect(names.length).toBeGreaterThan(250);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});
