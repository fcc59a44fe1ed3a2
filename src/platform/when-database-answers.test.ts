import { expect, it } from 'vitest';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { type DatabaseWait, describeDatabaseWait, whenDatabaseAnswers } from './when-database-answers.ts';

const withCode = (code: string) => Object.assign(new Error(`it said ${code}`), { code });

/** Fails with the error this many times, then succeeds. */
function failing(error: unknown, times: number): () => Promise<string> {
  let left = times;
  return async () => {
    left -= 1;
    if (left >= 0) throw error;
    return 'answer';
  };
}

it('waits while the server starts up, and reports the start and the end of the wait once', async () => {
  const waits: DatabaseWait[] = [];
  const options = { waitMs: 60_000, onWait: (wait: DatabaseWait) => waits.push(wait) };
  expect(await whenDatabaseAnswers(failing(withCode('57P03'), 3), options)).toBe('answer');
  expect(waits.map(({ state }) => state)).toEqual(['waiting', 'ready']);
  expect(describeDatabaseWait(waits[0]!)).toBe(
    'PostgreSQL is not ready: it said 57P03. Waiting up to 60 s (databaseStartWaitMs).',
  );
});

it.each([
  ['a name that does not resolve', withCode('ENOTFOUND')],
  ['a wrong password', withCode('28P01')],
  ['a database that is not there', withCode('3D000')],
  ['a database of a newer version', new RowmillError('DATABASE_NEWER', 'newer')],
])('throws %s immediately', async (_, error) => {
  const onWait = (): void => expect.fail('it waited');
  await expect(whenDatabaseAnswers(failing(error, 1), { waitMs: 60_000, onWait })).rejects.toBe(error);
});

it('unwraps a connection error', async () => {
  const wrapped = new RowmillError('DATABASE_UNREACHABLE', 'cannot connect', {
    cause: withCode('ECONNREFUSED'),
  });
  const options = { waitMs: 60_000, onWait: () => {} };
  expect(await whenDatabaseAnswers(failing(wrapped, 1), options)).toBe('answer');
});

it('throws the error when it is aborted, and immediately if the wait is 0', async () => {
  const stop = new AbortController();
  const error = withCode('57P03');
  const stopped = whenDatabaseAnswers(failing(error, 1e9), {
    waitMs: 60_000,
    onWait: () => stop.abort(),
    signal: stop.signal,
  });
  await expect(stopped).rejects.toBe(error);
  await expect(whenDatabaseAnswers(failing(error, 1), { waitMs: 0, onWait: () => {} })).rejects.toBe(error);
});
