import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { bundledChild } from './bundled-child.ts';
import { type Child, killAll, startChild } from './child-process.ts';

const TICKER = `
  const say = (event) => process.stdout.write(JSON.stringify(event) + '\\n');
  say({ event: 'ready', args: process.argv.slice(2), color: process.env.COLOR });
  let n = 0;
  setInterval(() => say({ event: 'tick', n: n++ }), 5);
`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowmill-child-'));
});

afterEach(killAll);
afterAll(() => rm(folder, { recursive: true }));

test('a script of this repository is started from the bundle of this run, any other script directly', () => {
  const script = fileURLToPath(new URL('../chaos/worker-child.mjs', import.meta.url));
  expect(bundledChild(script)).toMatch(/worker-child-mjs\.mjs$/);
  expect(bundledChild(join(folder, 'worker-child.mjs'))).toBeNull();
});

test('past and future events are returned with their fields', async () => {
  const child = await start(TICKER, { args: ['one', 'two'], env: { COLOR: 'blue' } });
  const tick = await child.waitFor('tick', ({ n }) => n === 3);
  expect(tick).toEqual({ event: 'tick', n: 3 });
  expect(await child.waitFor('ready')).toEqual({ event: 'ready', args: ['one', 'two'], color: 'blue' });
});

test('SIGKILL ends the child, and `exited` returns the signal', async () => {
  const child = await start(TICKER);
  await child.waitFor('ready');
  expect(child.kill('SIGKILL')).toBe(true);
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(child.kill('SIGKILL')).toBe(false);
});

test('SIGSTOP freezes the child until SIGCONT', async () => {
  const child = await start(TICKER);
  await child.waitFor('tick');
  child.kill('SIGSTOP');
  const frozenAt = await lastTickOnceSilent(child);
  const silence = child.waitFor('tick', ({ n }) => Number(n) > frozenAt, 100);
  await expect(silence).rejects.toThrow("expected event 'tick' within 100 ms");
  child.kill('SIGCONT');
  await child.waitFor('tick', ({ n }) => Number(n) > frozenAt);
});

test('killAll ends every child, even a frozen one', async () => {
  const children = await Promise.all([start(TICKER), start(TICKER)]);
  await Promise.all(children.map((child) => child.waitFor('ready')));
  children[0]!.kill('SIGSTOP');
  await killAll();
  for (const { pid } of children) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test('waiting for an event of a child that exits fails immediately, with its exit and stderr', async () => {
  const child = await start(`console.log('{"event":"ready"}'); throw new Error('disk on fire')`);
  const waiting = child.waitFor('done', undefined, 600_000);
  await expect(waiting).rejects.toThrow(/expected event 'done', but the child ended with code 1/);
  await expect(waiting).rejects.toThrow(/events: ready\nstderr: [\s\S]*disk on fire/);
  await expect(child.waitFor('done')).rejects.toThrow('code 1');
});

test('an event printed just before the exit is found after it', async () => {
  const child = await start(`console.log('{"event":"bye"}')`);
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(await child.waitFor('bye')).toEqual({ event: 'bye' });
});

test('lines that are not events are kept as output', async () => {
  const child = await start(`console.log('hello\\n{"n":1}\\n{broken\\n[1]\\n{"event":"end"}')`);
  await child.waitFor('end');
  expect(child.output).toEqual(['hello', '{"n":1}', '{broken', '[1]']);
});

test('a TypeScript script runs directly', async () => {
  const child = await start(
    `const event: string = 'typed'; console.log(JSON.stringify({ event }));`,
    {},
    'ts',
  );
  await child.waitFor('typed');
});

let scripts = 0;

async function start(
  source: string,
  options: { args?: string[]; env?: Record<string, string> } = {},
  extension = 'mjs',
): Promise<Child> {
  const path = join(folder, `script-${scripts++}.${extension}`);
  await writeFile(path, source);
  return startChild({ script: scripts % 2 ? path : pathToFileURL(path), ...options });
}

/** The kernel stops a process asynchronously and the pipe may still hold lines: wait until none arrives. */
async function lastTickOnceSilent(child: Child): Promise<number> {
  for (;;) {
    const last = Number(child.events.at(-1)?.n);
    const more = await child.waitFor('tick', ({ n }) => Number(n) > last, 100).catch(() => undefined);
    if (more) continue;
    // If this process was delayed, the timeout can fire before lines that have arrived are read.
    await new Promise((resolve) => setImmediate(resolve));
    if (Number(child.events.at(-1)?.n) === last) return last;
  }
}
