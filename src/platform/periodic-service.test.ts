import { describe, expect, it, vi } from 'vitest';
import { Events } from './events.ts';
import { PeriodicService } from './periodic-service.ts';

/** A service whose rounds the test observes and completes. */
function controlledService(intervalMs = 1) {
  const events = new Events();
  const rounds: { end: (error?: Error) => void }[] = [];
  let onRound = (): void => {};
  const work = vi.fn(
    () =>
      new Promise<void>((resolve, reject) => {
        rounds.push({ end: (error) => (error ? reject(error) : resolve()) });
        onRound();
      }),
  );
  const service = new PeriodicService({ name: 'test', intervalMs, events, work });
  const roundBegins = (count: number): Promise<void> =>
    new Promise((resolve) => {
      onRound = () => {
        if (rounds.length >= count) resolve();
      };
      onRound();
    });
  return { service, events, work, rounds, roundBegins };
}

describe('a periodic service', () => {
  it('runs one round after another', async () => {
    const { service, work, rounds, roundBegins } = controlledService();
    service.start();
    for (let n = 1; n <= 3; n += 1) {
      await roundBegins(n);
      expect(work).toHaveBeenCalledTimes(n);
      rounds[n - 1]!.end();
    }
    await roundBegins(4);
    rounds[3]!.end();
    await service.stop();
  });

  it('reports a failed round and continues', async () => {
    const { service, events, rounds, roundBegins } = controlledService();
    const failed = events.next('service.failed');
    service.start();
    await roundBegins(1);
    const error = new Error('no luck');
    rounds[0]!.end(error);
    await expect(failed).resolves.toEqual({ service: 'test', error });
    await roundBegins(2);
    rounds[1]!.end();
    await service.stop();
  });

  it('reports a round that throws before it returns a promise', async () => {
    const events = new Events();
    const failed = events.next('service.failed');
    const service = new PeriodicService({
      name: 'test',
      intervalMs: 1,
      events,
      work: () => {
        throw new Error('at once');
      },
    });
    await service.runOnce();
    await expect(failed).resolves.toMatchObject({ service: 'test', error: new Error('at once') });
  });

  it('stops after the current round and starts no other', async () => {
    const { service, work, rounds, roundBegins } = controlledService();
    service.start();
    await roundBegins(1);
    let stopped = false;
    const stopping = service.stop().then(() => {
      stopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(stopped).toBe(false);
    rounds[0]!.end();
    await stopping;
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('stops without waiting for the interval to pass', async () => {
    const { service, work } = controlledService(3_600_000);
    service.start();
    await service.stop();
    expect(work).not.toHaveBeenCalled();
  });

  it('runs a round when it is woken, and another if it is woken during the round', async () => {
    const { service, work, rounds, roundBegins } = controlledService(3_600_000);
    service.start();
    service.wake();
    await roundBegins(1);
    service.wake();
    rounds[0]!.end();
    await roundBegins(2);
    rounds[1]!.end();
    await new Promise((resolve) => setImmediate(resolve));
    expect(work).toHaveBeenCalledTimes(2);
    await service.stop();
  });

  it('runs one loop even if it is started twice', async () => {
    const { service, work, rounds, roundBegins } = controlledService();
    service.start();
    service.start();
    await roundBegins(1);
    expect(work).toHaveBeenCalledTimes(1);
    const stopping = service.stop();
    rounds[0]!.end();
    await stopping;
  });

  it('can be restarted', async () => {
    const { service, rounds, roundBegins } = controlledService();
    service.start();
    await service.stop();
    service.start();
    await roundBegins(1);
    rounds[0]!.end();
    await service.stop();
  });

  it('may be stopped without having been started', async () => {
    await controlledService().service.stop();
  });

  it('runs one round on demand', async () => {
    const { service, work, rounds } = controlledService();
    const running = service.runOnce();
    rounds[0]!.end();
    await running;
    expect(work).toHaveBeenCalledTimes(1);
  });
});
