import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { killLeftovers } from './kill-leftovers.ts';

test.runIf(process.platform === 'linux')(
  'processes that a test left running are killed, and those of other runs and the own children are not',
  async () => {
    const [own, other] = [newId(), newId()];
    const startedBy = (run: string, command: string) =>
      spawn('sh', ['-c', command], {
        env: { PATH: process.env.PATH, RUN: run },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
    // The shell is a child of this process; the program that it started is not.
    const shells = [own, other].map((run) => startedBy(run, 'sleep 60 & echo $!; wait'));
    const pids = await Promise.all(
      shells.map(async ({ stdout }) => Number(String((await once(stdout, 'data'))[0]))),
    );
    try {
      const killed = killLeftovers(`RUN=${own}`);
      // The command line may still be that of the shell, before the new process has loaded its program.
      expect(killed).toEqual([expect.stringMatching(`^${pids[0]}: `)]);
      expect(await once(shells[0]!, 'exit')).toEqual([0, null]);
      expect(shells[1]!.exitCode).toBeNull();
      expect(killLeftovers(`RUN=${own}`)).toEqual([]);
    } finally {
      killLeftovers(`RUN=${other}`);
    }
  },
);
