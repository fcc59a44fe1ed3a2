// One stream of server-sent events to one client. It knows how far its client has been told, and never holds more than a
// little that the client has not taken: a client that does not read falls behind, catches up from the table, or is let go.
import { PassThrough } from 'node:stream';
import type { z } from 'zod';
import type { CounterEvent, JobEvent, openEvent, ProgressEvent } from '../../contract/events.ts';
import { waitMs } from '../../platform/clock.ts';
import type { EventScope, StoredJobEvent } from '../../store/views/events/read-job-events.ts';

const BUFFER_BYTES = 65_536;

export interface EventStreamOptions {
  /** Who listens: how many streams they have is counted. */
  caller: string;
  scope: EventScope;
  /** Told up to here already. */
  position: number;
  heartbeatMs: number;
  /** A client that takes nothing for this long is let go. */
  idleMs: number;
  /** Whether the client may still listen. */
  mayListen: () => Promise<boolean>;
}

export class EventStream {
  readonly output = new PassThrough({
    readableHighWaterMark: BUFFER_BYTES,
    writableHighWaterMark: BUFFER_BYTES,
  });
  readonly scope: EventScope;
  readonly caller: string;
  readonly #options: EventStreamOptions;
  readonly #ended = new AbortController();
  readonly #told = new Map<string, string>();
  readonly #toldCounters = new Map<string, string>();
  #position: number;
  #blocked: Promise<void> | null = null;
  #check: Promise<void> | null = null;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.scope = options.scope;
    this.caller = options.caller;
    this.#position = options.position;
    this.output.once('close', () => this.#ended.abort());
    this.output.on('error', () => this.#ended.abort());
    void this.#keepAlive();
  }

  get position(): number {
    return this.#position;
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  get heldBytes(): number {
    return this.output.readableLength + this.output.writableLength;
  }

  get isBlocked(): boolean {
    return this.#blocked !== null;
  }

  /** The first event: where the stream begins, so that who is cut off before anything happened can come back too. */
  open(missed: boolean): void {
    const { heartbeatMs } = this.#options;
    const event: z.infer<typeof openEvent> = { position: this.#position, missed, heartbeatMs };
    this.#write(`retry: 1000\nid: ${this.#position}\nevent: open\ndata: ${JSON.stringify(event)}\n\n`);
  }

  tell(event: StoredJobEvent): void {
    if (event.position <= this.#position) return;
    this.#position = event.position;
    const data = JSON.stringify(toJobEvent(event));
    this.#write(`id: ${event.position}\nevent: ${event.kind}\ndata: ${data}\n\n`);
  }

  /** Nothing before this concerns the client. */
  passTo(position: number): void {
    this.#position = Math.max(this.#position, position);
  }

  /** Left out when the client is behind: the next one says it all. */
  tellProgress(progress: ProgressEvent, text: string): void {
    if (this.#blocked || this.#told.get(progress.jobId) === text) return;
    this.#told.set(progress.jobId, text);
    this.#write(`event: progress\ndata: ${text}\n\n`);
  }

  /** Like progress, left out when the client is behind. */
  tellCounter(event: CounterEvent): void {
    const text = JSON.stringify(event);
    if (this.#blocked || this.#toldCounters.get(event.counter) === text) return;
    this.#toldCounters.set(event.counter, text);
    this.#write(`event: counter\ndata: ${text}\n\n`);
  }

  /** Of jobs that nobody watches any more. */
  forgetProgress(watched: ReadonlySet<string>): void {
    for (const jobId of this.#told.keys()) if (!watched.has(jobId)) this.#told.delete(jobId);
  }

  /** Resolves when the client has taken what was sent, or is gone. */
  async whenTaken(): Promise<void> {
    await this.#blocked;
  }

  end(): void {
    this.#ended.abort();
    this.output.end();
  }

  #write(text: string): void {
    if (this.#ended.signal.aborted || this.output.write(text)) return;
    this.#blocked ??= this.#untilTaken();
  }

  async #untilTaken(): Promise<void> {
    const taken = new AbortController();
    const stop = (): void => taken.abort();
    this.output.once('drain', stop);
    this.#ended.signal.addEventListener('abort', stop, { once: true });
    let isLate = false;
    await waitMs(this.#options.idleMs, taken.signal).then(() => {
      isLate = !taken.signal.aborted;
    });
    this.output.off('drain', stop);
    this.#ended.signal.removeEventListener('abort', stop);
    this.#blocked = null;
    if (isLate) this.output.destroy();
  }

  /** Signs of life, which do not wait for the look at the database that goes with them. */
  async #keepAlive(): Promise<void> {
    for (;;) {
      await waitMs(this.#options.heartbeatMs, this.#ended.signal);
      if (this.#ended.signal.aborted) return;
      if (!this.#blocked) this.#write(': still here\n\n');
      this.#check ??= this.#endUnlessAllowed();
    }
  }

  /** Whether the client may still listen; when that cannot be found out, it may not. */
  async #endUnlessAllowed(): Promise<void> {
    const may = await this.#options.mayListen().catch(() => false);
    this.#check = null;
    if (!may) this.end();
  }
}

/** As the contract has it. */
export function toJobEvent({ eventId: _, ...event }: StoredJobEvent): JobEvent {
  return { ...event, at: event.at.toISOString() } as JobEvent;
}
