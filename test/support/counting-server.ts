// A simulated external service: it counts calls and concurrent calls, by path.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CountingServer {
  readonly url: string;
  /** The keys of all calls, in order. */
  readonly calls: readonly string[];
  /** Calls without an answer yet. */
  readonly underWay: number;
  /** The most concurrent calls, of all keys or of one. */
  most(key?: string): number;
  /** Answers nothing until this many calls are waiting. */
  holdUntil(count: number): Promise<void>;
  /** Answers no call of this key until the returned function is called. */
  hold(key: string): () => void;
  /** Resolves after this many calls. */
  whenCalled(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Running calls, and the most there were. */
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
      // Counted before the client can see the answer.
      end();
      response.end('ok');
    };
    const ofHeldKey = heldKeys.get(key);
    if (ofHeldKey) ofHeldKey.push(answer);
    else if (held) held.answers.push(answer);
    else setTimeout(answer, answerMs);
    // The client disconnected.
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
