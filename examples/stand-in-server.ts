/**
 * The base of local stand-ins for paid services of several providers: latency, 429 with Retry-After, 5xx, calls that
 * are never answered, providers that are down for a while, and an exact ledger of calls. The caller supplies the
 * answers. The fate of a call depends only on the seed, the provider, the subject and the number of earlier calls
 * admitted for that subject, not on the order or timing of calls. A call refused with 429 or by a provider that is
 * down is not admitted, because that depends on timing.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { seededDraw } from './seeded-draw.ts';
import { createTokenBucket } from './token-bucket.ts';

export interface StandInOptions {
  seed: number;
  latencyMs: readonly [min: number, max: number];
  /** Rate limit of each provider: a token bucket that holds one second's worth. Default: no limit. */
  ratePerSecond?: number;
  /** Shares of the admitted calls, from 0 to 1. */
  error5xxRate?: number;
  hangRate?: number;
}

/** Subject of a call, and the answer it gets if nothing goes wrong. */
export interface StandInCall {
  provider: string;
  subject: string;
  /** True if the rate is not limited. */
  isFree?: boolean;
  answer: () => { status: number; body: unknown; type?: string };
}

/** Number of answers by status. `hung` calls got no answer; `abandoned` callers disconnected before it. */
export type AnswerCounts = Record<string, number>;

export interface StandIn {
  url: string;
  /** Answers of one provider, or for one of its subjects. */
  answers(provider: string, subject?: string): AnswerCounts;
  providers(): string[];
  subjects(provider: string): string[];
  /** Takes a provider down or up. While down, it answers every call with 503. */
  setDown(provider: string, isDown: boolean): void;
  /** Closes open connections, so that waiting calls fail. */
  stop(): Promise<void>;
}

interface Subject {
  attempts: number;
  answers: AnswerCounts;
}

const MAX_BODY_BYTES = 1024 * 1024;

/** `route` returns null for an unknown URL. That is a 400, which cannot be mistaken for "not found". */
export async function startStandIn(
  options: StandInOptions,
  route: (request: IncomingMessage, body: Buffer) => StandInCall | null,
): Promise<StandIn> {
  const { seed, latencyMs, ratePerSecond, error5xxRate = 0, hangRate = 0 } = options;
  const ledger = new Map<string, Map<string, Subject>>();
  const buckets = new Map<string, { take(): number }>();
  const down = new Set<string>();

  const server = createServer((request, response) => {
    readBody(request)
      .then((body) => {
        const call = route(request, body);
        if (call === null) send(response, 400, { error: `nothing at ${request.method} ${request.url}` });
        else serve(call, response);
      })
      .catch(() => response.destroy());
  });

  function serve(call: StandInCall, response: ServerResponse): void {
    const subject = openSubject(ledger, call);
    if (down.has(call.provider)) {
      count(subject, '503');
      return send(response, 503, { error: `${call.provider} is down` });
    }
    const waitMs = call.isFree ? 0 : (bucketOf(call.provider)?.take() ?? 0);
    if (waitMs > 0) {
      count(subject, '429');
      response.setHeader('retry-after', String(Math.max(1, Math.ceil(waitMs / 1000))));
      // Retry-After allows only whole seconds; several vendors add the exact time in their own header.
      response.setHeader('retry-after-ms', String(Math.ceil(waitMs)));
      return send(response, 429, { error: 'too many requests' });
    }
    subject.attempts += 1;
    serveLetIn(call, subject, response);
  }

  function serveLetIn(call: StandInCall, subject: Subject, response: ServerResponse): void {
    const key = [seed, call.provider, call.subject, subject.attempts] as const;
    const fate = seededDraw('fate', ...key);
    if (fate < hangRate) return count(subject, 'hung');
    const failed = fate < hangRate + error5xxRate;
    const [minMs, maxMs] = latencyMs;
    let isOpen = true;
    const timer = setTimeout(
      () => {
        isOpen = false;
        const answer = failed ? { status: 502, body: { error: 'bad gateway' } } : call.answer();
        count(subject, String(answer.status));
        send(response, answer.status, answer.body, answer.type);
      },
      minMs + seededDraw('latency', ...key) * (maxMs - minMs),
    );
    response.once('close', () => {
      clearTimeout(timer);
      if (isOpen) count(subject, 'abandoned');
    });
  }

  function bucketOf(provider: string): { take(): number } | undefined {
    if (ratePerSecond !== undefined && !buckets.has(provider))
      buckets.set(provider, createTokenBucket(ratePerSecond));
    return buckets.get(provider);
  }

  // Longer than any pause between two calls: closing an idle connection would look like a failure.
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers: (provider, subject) => addUp(ledger.get(provider), subject),
    providers: () => [...ledger.keys()].sort(),
    subjects: (provider) => [...(ledger.get(provider)?.keys() ?? [])],
    setDown: (provider, isDown) => void (isDown ? down.add(provider) : down.delete(provider)),
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function openSubject(ledger: Map<string, Map<string, Subject>>, call: StandInCall): Subject {
  const subjects = ledger.get(call.provider) ?? new Map<string, Subject>();
  ledger.set(call.provider, subjects);
  const subject = subjects.get(call.subject) ?? { attempts: 0, answers: {} };
  subjects.set(call.subject, subject);
  return subject;
}

function addUp(subjects: Map<string, Subject> | undefined, only: string | undefined): AnswerCounts {
  const sums: AnswerCounts = {};
  for (const [name, { answers }] of subjects ?? []) {
    if (only !== undefined && name !== only) continue;
    for (const [answer, times] of Object.entries(answers)) sums[answer] = (sums[answer] ?? 0) + times;
  }
  return sums;
}

function count({ answers }: Subject, answer: string): void {
  answers[answer] = (answers[answer] ?? 0) + 1;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new RangeError(`expected at most ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, status: number, body: unknown, type = 'application/json'): void {
  response.writeHead(status, { 'content-type': type });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
