// A service as the outside world has them: it counts calls, and how many are there at once, by the path.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CountingServer {
  readonly url: string;
  /** The keys of all calls, in their order. */
  readonly calls: readonly string[];
  /** Calls that are not answered yet. */
  readonly underWay: number;
  /** Calls at once, at the most, of any key or of one. */
  most(key?: string): number;
  /** Answers nothing until so many calls are there at once. */
  holdUntil(count: number): Promise<void>;
  /** Answers no call of this key before the function that comes back is called. */
  hold(key: string): () => void;
  /** Resolves as soon as that many calls have come. */
  whenCalled(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Calls under way, and the most there were. */
class AtOnce {
  now = 0;
  most = 0;

  begin(): void {
    this.now += 1;
    this.most = Math.max(this.most, this.now);
  }
}

export async function startCountingServer(answerMs: number): Promise<CountingServer> {
  const calls: string[] = [];
  const all = new AtOnce();
  const byKey = new Map<string, AtOnce>();
  const waiters: { count: number; resolve: () => void }[] = [];
  const heldKeys = new Map<string, (() => void)[]>();
  let held: { count: number; answers: (() => void)[]; resolve: () => void } | null = null;
  const release = (): void => {
    if (!held || all.now < held.count) return;
    for (const answer of held.answers) answer();
    held.resolve();
    held = null;
  };
  const server: Server = createServer((request, response) => {
    const key = request.url!.slice(1);
    const ofKey = byKey.get(key) ?? new AtOnce();
    byKey.set(key, ofKey);
    const both = [all, ofKey];
    for (const each of both) each.begin();
    calls.push(key);
    let isUnderWay = true;
    const end = (): void => {
      if (isUnderWay) for (const each of both) each.now -= 1;
      isUnderWay = false;
    };
    const answer = (): void => {
      // Before the client can know of it.
      end();
      response.end('ok');
    };
    const ofHeldKey = heldKeys.get(key);
    if (ofHeldKey) ofHeldKey.push(answer);
    else if (held) held.answers.push(answer);
    else setTimeout(answer, answerMs);
    // Its client is gone.
    response.once('close', end);
    release();
    for (const waiter of waiters) if (calls.length >= waiter.count) waiter.resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    get underWay() {
      return all.now;
    },
    most: (key) => (key === undefined ? all : byKey.get(key))?.most ?? 0,
    holdUntil: (count) =>
      new Promise((resolve) => {
        held = { count, answers: [], resolve };
        release();
      }),
    hold(key) {
      const answers: (() => void)[] = [];
      heldKeys.set(key, answers);
      return () => {
        heldKeys.delete(key);
        for (const answer of answers) answer();
      };
    },
    whenCalled: (count) =>
      new Promise((resolve) => {
        if (calls.length >= count) resolve();
        else waiters.push({ count, resolve });
      }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
