// A TCP proxy in front of PostgreSQL that reads the wire protocol, so that a test can cut a connection at an exact
// point of a conversation: after the server has committed but before the client receives the reply, or just before
// COMMIT is sent. TLS is refused ('N'), because the proxy must be able to read. Tests decide when to inject a fault.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface FiredFault {
  fault: 'cutAfterCommit' | 'cutBeforeCommit' | 'cutOnReply' | 'blackhole' | 'resetAll';
  /** Server process of the affected connection, as in pg_stat_activity. */
  backendPid: number | undefined;
  /** The statement that was cut; '' for faults without one. */
  sql: string;
  /** The reply that the client did not receive: the command tags, or 'ERROR 40001'. */
  reply: string;
}

export interface CutOptions {
  /** For the commit cuts: matches any statement of the transaction that the COMMIT ends. */
  match?: (sql: string) => boolean;
  /** Number of cuts; default 1. The returned promise resolves at the first. */
  times?: number;
  /** A reply that does not match passes untouched. Default: COMMIT for cutAfterCommit, any for cutOnReply. */
  reply?: RegExp;
}

export interface FaultProxy {
  /** The target's URL with the proxy's host and port. */
  readonly url: string;
  readonly fired: readonly FiredFault[];
  /** The server commits, its reply is swallowed, both sides are reset. A failed COMMIT passes untouched. */
  cutAfterCommit(options?: CutOptions): Promise<FiredFault>;
  /** Both sides are reset instead of forwarding the COMMIT. */
  cutBeforeCommit(options?: CutOptions): Promise<FiredFault>;
  /** The server executes the matching statement, its reply is swallowed, both sides are reset. */
  cutOnReply(options: CutOptions & { match: (sql: string) => boolean }): Promise<FiredFault>;
  /** Withdraws every cut that is still armed. */
  disarm(): void;
  /** Holds all bytes (and ends) of all connections silently until `heal`, which delivers them late. */
  blackhole(): void;
  /** The same from the first matching statement on, which is held too. */
  blackholeAt(match: (sql: string) => boolean): Promise<FiredFault>;
  heal(): void;
  /** Latency of every chunk from now on, in both directions; 0 ends it. */
  delay(delayMs: number): void;
  /** Sends RST on every connection and returns their number. */
  resetAll(): number;
  /** Closes everything. Rejects with 'void test' if an armed cut never fired. */
  stop(): Promise<void>;
}

interface Cut {
  fault: FiredFault['fault'];
  match: (sql: string) => boolean;
  reply: RegExp | undefined;
  remaining: number;
  fired: boolean;
  resolve: (fired: FiredFault) => void;
}

interface Link {
  reset(): void;
  backendPid: number | undefined;
}

const TLS_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const CANCEL_REQUEST = 80877102;
const MAX_HELD_BYTES = 64 * 1024 * 1024;

export async function startFaultProxy(options: { target: string }): Promise<FaultProxy> {
  const target = new URL(options.target);
  const links = new Set<Link>();
  const fired: FiredFault[] = [];
  let cuts: Cut[] = [];
  let delayMs = 0;
  let hole: { healed: Promise<void>; heal: () => void; felt: boolean } | undefined;
  let holeAt: { match: (sql: string) => boolean; resolve: (fired: FiredFault) => void } | undefined;

  const server = createServer({ allowHalfOpen: true, noDelay: true }, openLink);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  function record(fault: FiredFault['fault'], link: Link, sql = '', reply = ''): FiredFault {
    const entry = { fault, backendPid: link.backendPid, sql, reply };
    fired.push(entry);
    return entry;
  }

  function arm(
    fault: Cut['fault'],
    { match = () => true, times = 1, reply }: CutOptions,
  ): Promise<FiredFault> {
    return new Promise((resolve) => {
      cuts.push({ fault, match, reply, remaining: times, fired: false, resolve });
    });
  }

  function openLink(client: Socket): void {
    const upstream = connect({
      host: target.hostname.replace(/^\[|\]$/g, '') || 'localhost',
      port: Number(target.port || 5432),
      allowHalfOpen: true,
      noDelay: true,
    });
    const frontend = new MessageSplitter('startup');
    const backend = new MessageSplitter('typed');
    const statements = new Map<string, string>();
    const portals = new Map<string, string>();
    let transaction: string[] = [];
    // The replies are counted in cycles that end with ReadyForQuery; the startup is the first one.
    let cyclesAsked = 1;
    let cyclesAnswered = 0;
    let pending: { cut: Cut; cycle: number; sql: string; tags: string[]; swallowed: Buffer[] } | undefined;

    const link: Link = {
      backendPid: undefined,
      reset() {
        if (pending) pending.cut.remaining++;
        pending = undefined;
        links.delete(link);
        client.resetAndDestroy();
        upstream.resetAndDestroy();
      },
    };
    links.add(link);
    const closed = () => client.destroyed && upstream.destroyed && link.reset();
    client.on('close', closed);
    upstream.on('close', closed);

    function fire(cut: Cut, sql: string, reply: string): void {
      const entry = record(cut.fault, link, sql, reply);
      cut.fired = true;
      pending = undefined;
      link.reset();
      cut.resolve(entry);
    }

    /** Returns false if the statement must not reach the server. */
    function seeStatement(sql: string): boolean {
      transaction.push(sql);
      const ended = transaction;
      const commits = isCommit(sql);
      if (commits) transaction = [];
      if (holeAt?.match(sql)) {
        openHole().felt = true;
        holeAt.resolve(record('blackhole', link, sql));
        holeAt = undefined;
      }
      if (pending) return true;
      const cut = cuts.find(
        (c) => c.remaining > 0 && (c.fault === 'cutOnReply' ? c.match(sql) : commits && ended.some(c.match)),
      );
      if (!cut) return true;
      cut.remaining--;
      if (cut.fault === 'cutBeforeCommit') {
        fire(cut, sql, '');
        return false;
      }
      pending = { cut, cycle: cyclesAsked + 1, sql, tags: [], swallowed: [] };
      return true;
    }

    /** Returns false if the link was cut and nothing more may be forwarded. */
    function seeFrontend(message: Buffer): boolean {
      const type = message.toString('latin1', 0, 1);
      const text = (index: number) => readText(message, 5, index);
      if (type === 'P') statements.set(text(0), text(1));
      else if (type === 'B') portals.set(text(0), statements.get(text(1)) ?? '');
      else if (type === 'E' && !seeStatement(portals.get(text(0)) ?? '')) return false;
      else if (type === 'Q' && !seeStatement(text(0))) return false;
      if (type === 'Q' || type === 'S' || type === 'F') cyclesAsked++;
      return true;
    }

    function fromClient(chunk: Buffer): Buffer[] {
      const forward: Buffer[] = [];
      for (const message of frontend.push(chunk)) {
        if (frontend.framing === 'startup') {
          const code = message.readInt32BE(4);
          if (code === TLS_REQUEST || code === GSS_REQUEST) {
            client.write('N');
            continue;
          }
          frontend.framing = code === CANCEL_REQUEST ? 'startup' : 'typed';
        } else if (!seeFrontend(message)) {
          return [];
        }
        forward.push(message);
      }
      return forward;
    }

    function fromServer(chunk: Buffer): Buffer[] {
      const forward: Buffer[] = [];
      for (const message of backend.push(chunk)) {
        const type = message.toString('latin1', 0, 1);
        if (type === 'K') link.backendPid = message.readInt32BE(5);
        // CopyInResponse passes: the server waits for the client's data before it can finish the statement.
        const swallow = pending && cyclesAnswered + 1 >= pending.cycle && type !== 'G';
        if (swallow && pending) {
          pending.swallowed.push(message);
          if (type === 'C') pending.tags.push(readText(message, 5, 0));
          if (type === 'E') pending.tags.push(`ERROR ${readSqlState(message)}`);
        } else {
          forward.push(message);
        }
        if (type !== 'Z') continue;
        cyclesAnswered++;
        if (message[5] === 0x49 && cyclesAnswered === cyclesAsked) transaction = [];
        if (!pending || cyclesAnswered < pending.cycle) continue;
        const { cut, sql, tags, swallowed } = pending;
        const reply = tags.join(', ');
        if (!cut.reply || cut.reply.test(reply)) {
          fire(cut, sql, reply);
          return [];
        }
        cut.remaining++;
        pending = undefined;
        forward.push(...swallowed);
      }
      return forward;
    }

    relay(client, upstream, fromClient, () => upstream.end());
    // If the server died the client sees a reset, if it closed the connection the client sees an end.
    relay(upstream, client, fromServer, (failed) => (failed ? client.resetAndDestroy() : client.end()));

    /** Forwards chunks in order, each no earlier than its due time and never while the blackhole is open. */
    function relay(
      source: Socket,
      destination: Socket,
      tap: (chunk: Buffer) => Buffer[],
      finish: (failed: boolean) => void,
    ): void {
      const queue: { chunk?: Buffer; failed?: boolean; dueAt: number }[] = [];
      let heldBytes = 0;
      let draining = false;

      function enqueue(entry: { chunk?: Buffer; failed?: boolean }): void {
        queue.push({ ...entry, dueAt: performance.now() + delayMs });
        heldBytes += entry.chunk?.length ?? 0;
        if (heldBytes > MAX_HELD_BYTES) source.pause();
        if (!draining) void drain();
      }

      async function drain(): Promise<void> {
        draining = true;
        for (let next = queue[0]; next; next = queue[0]) {
          if (next.dueAt > performance.now()) await sleep(next.dueAt - performance.now());
          await healed();
          queue.shift();
          if (!links.has(link)) continue;
          if (!next.chunk) {
            finish(next.failed === true);
            continue;
          }
          heldBytes -= next.chunk.length;
          if (heldBytes <= MAX_HELD_BYTES) source.resume();
          const forward = Buffer.concat(tap(next.chunk));
          // One of these messages may have opened the blackhole.
          await healed();
          if (forward.length === 0 || destination.destroyed || destination.write(forward)) continue;
          await drainedOrClosed(destination);
        }
        draining = false;
      }

      async function healed(): Promise<void> {
        while (hole) {
          if (!hole.felt) record('blackhole', link);
          hole.felt = true;
          await hole.healed;
        }
      }

      source.on('data', (chunk: Buffer) => enqueue({ chunk }));
      source.on('end', () => enqueue({ failed: false }));
      source.on('error', () => enqueue({ failed: true }));
    }
  }

  function openHole(): NonNullable<typeof hole> {
    let open = () => {};
    const healed = new Promise<void>((resolve) => {
      open = resolve;
    });
    hole ??= { healed, heal: open, felt: false };
    return hole;
  }

  function heal(): void {
    hole?.heal();
    hole = undefined;
  }

  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);

  return {
    url: url.href,
    fired,
    cutAfterCommit: (cut = {}) => arm('cutAfterCommit', { reply: /\bCOMMIT\b/, ...cut }),
    cutBeforeCommit: (cut = {}) => arm('cutBeforeCommit', cut),
    cutOnReply: (cut) => arm('cutOnReply', cut),
    disarm() {
      cuts = [];
    },
    blackhole: () => void openHole(),
    blackholeAt: (match) =>
      new Promise((resolve) => {
        holeAt = { match, resolve };
      }),
    heal,
    delay(ms) {
      delayMs = ms;
    },
    resetAll() {
      const current = [...links];
      for (const link of current) {
        record('resetAll', link);
        link.reset();
      }
      return current.length;
    },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const link of [...links]) link.reset();
      heal();
      await closed;
      const missed = cuts.filter((cut) => !cut.fired).map((cut) => cut.fault);
      if (missed.length > 0) throw new Error(`void test: ${missed.join(', ')} was armed and never fired`);
    },
  };
}

async function drainedOrClosed(socket: Socket): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })]).catch(() => {});
  done.abort();
}

/** Splits a byte stream into protocol messages, for any split into chunks. */
export class MessageSplitter {
  framing: 'startup' | 'typed';
  #chunks: Buffer[] = [];
  #bytes = 0;
  #needed = 0;

  constructor(framing: 'startup' | 'typed') {
    this.framing = framing;
  }

  *push(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Joining only complete messages keeps large messages linear.
    if (this.#bytes < this.#needed) return;
    let rest = Buffer.concat(this.#chunks);
    for (;;) {
      const lengthAt = this.framing === 'startup' ? 0 : 1;
      this.#needed = rest.length < lengthAt + 4 ? lengthAt + 4 : lengthAt + rest.readInt32BE(lengthAt);
      if (rest.length < this.#needed) break;
      const message = rest.subarray(0, this.#needed);
      rest = rest.subarray(this.#needed);
      yield message;
    }
    this.#chunks = [rest];
    this.#bytes = rest.length;
  }
}

/** Reads the zero-terminated text at `index`, counted from `start`. */
function readText(message: Buffer, start: number, index: number): string {
  const end = message.indexOf(0, start);
  return index === 0 ? message.toString('utf8', start, end) : readText(message, end + 1, index - 1);
}

function readSqlState(message: Buffer): string {
  const fields = message.toString('utf8', 5).split('\0');
  return fields.find((field) => field.startsWith('C'))?.slice(1) ?? 'unknown';
}

function isCommit(sql: string): boolean {
  const bare = sql.replace(/--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|(\$\w*\$)[\s\S]*?\1/g, ' ');
  return /(^|;)\s*(commit|end)(\s+(work|transaction))?(\s+and(\s+no)?\s+chain)?\s*(;|$)/i.test(bare);
}
