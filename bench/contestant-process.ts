// Child process: runs one contestant and answers the requests of contestant-client.ts over the IPC channel.
import type { Contestant, CreateContestant } from './contestant.ts';
import { monotonicMs, type Progress, type Reply, type Request } from './contestant-client.ts';

const [moduleUrl, optionsJson] = process.argv.slice(2);
const { createContestant } = (await import(moduleUrl!)) as { createContestant: CreateContestant };
const contestant: Contestant = createContestant(JSON.parse(optionsJson!));

// Progress is sent at most every few milliseconds, with the time of the last item, so the drain time stays exact.
const progress: Progress = { kind: 'progress', finished: 0, reports: 0, atMs: 0 };
let progressTimer: NodeJS.Timeout | null = null;
function onFinished(items: number): void {
  progress.finished += items;
  progress.reports += 1;
  progress.atMs = monotonicMs();
  if (progressTimer !== null) return;
  progressTimer = setTimeout(() => {
    progressTimer = null;
    process.send!(progress);
  }, 5);
}

async function answer(
  method: Request['method'],
  argument: number | undefined,
): Promise<NonNullable<Reply['result']>> {
  const startedMs = monotonicMs();
  switch (method) {
    case 'setup':
      await contestant.setup();
      break;
    case 'enqueue':
      if (contestant.enqueue === null) return { startedMs, endedMs: startedMs, value: null };
      await contestant.enqueue();
      break;
    case 'prepareWorker':
      await contestant.prepareWorker();
      break;
    case 'startWorker':
      await contestant.startWorker(onFinished);
      break;
    case 'settle':
      return { startedMs, endedMs: monotonicMs(), value: await contestant.settle() };
    case 'countFinished':
      return { startedMs, endedMs: monotonicMs(), value: await contestant.countFinished() };
    case 'measureFinishLag':
      return {
        startedMs,
        endedMs: monotonicMs(),
        value: (await contestant.measureFinishLag?.(argument!)) ?? null,
      };
    case 'addHistory':
      await contestant.addHistory!(argument!);
      break;
    case 'startReaders':
      await contestant.startReaders!(argument!);
      break;
    case 'stopReaders':
      return { startedMs, endedMs: monotonicMs(), value: await contestant.stopReaders!() };
    case 'readCpuMs': {
      const { user, system } = process.cpuUsage();
      return { startedMs, endedMs: monotonicMs(), value: (user + system) / 1000 };
    }
    case 'close':
      await contestant.close();
      break;
  }
  return { startedMs, endedMs: monotonicMs(), value: null };
}

process.on('message', ({ id, method, argument }: Request) => {
  answer(method, argument)
    .then((result) => process.send!({ kind: 'reply', id, result } satisfies Reply))
    .catch((error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.send!({ kind: 'reply', id, error: text } satisfies Reply);
    });
});
process.on('disconnect', () => process.exit(0));
