import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { identifyProcess, isRunning, pidExists } from './process-identity.ts';

test('a process is recognised while it runs and not after it exited', async () => {
  const child = spawn('sleep', ['60']);
  const identity = identifyProcess(child.pid!)!;
  expect(isRunning(identity)).toBe(true);
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  expect(isRunning(identity)).toBe(false);
});

test('another process with the same pid is not mistaken for it', () => {
  const self = identifyProcess(process.pid)!;
  expect(isRunning(self)).toBe(true);
  if (self.startedAt !== null) expect(isRunning({ ...self, startedAt: 'earlier' })).toBe(false);
});

test.runIf(process.platform === 'linux')('a zombie counts as dead although its pid exists', async () => {
  // The shell starts a child and then becomes a sleep, which never waits for it. The child is killed after that,
  // because the shell itself would wait for a child that ends earlier.
  const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60']);
  const [line] = (await once(parent.stdout.setEncoding('utf8'), 'data')) as [string];
  const pid = Number(line);
  while (readFileSync(`/proc/${parent.pid}/comm`, 'utf8') !== 'sleep\n');
  process.kill(pid, 'SIGKILL');
  while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '));
  expect(pidExists(pid)).toBe(true);
  expect(identifyProcess(pid)).toBeNull();
  const exited = once(parent, 'exit');
  parent.kill('SIGKILL');
  await exited;
});
