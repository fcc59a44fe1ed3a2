// One stream of server-sent events to one client. It tracks the position of its client and buffers very little: a
// client that does not read falls behind, catches up from the table, or is disconnected.
import { PassThrough } from 'node:stream';
import type { z } from 'zod';
import type { CounterEvent, JobEvent, openEvent, ProgressEvent } from '../../contract/events.ts';
import { waitMs } from '../../platform/clock.ts';
import type { EventScope, StoredJobEvent } from '../../store/views/events/read-job-events.ts';

const BUFFER_BYTES = 65_536;

export interface EventStreamOptions {
  /** The caller, whose open streams are counted. */
  caller: string;
  scope: EventScope;
  /** Position of the last event that the client has. */
  position: number;
  heartbeatMs: number;
  /** A client that reads nothing for this long is disconnected. */
  idleMs: number;
  /** Checks whether the client may still listen. */
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

  /**
   * Sends the first event, with the start position, so that a client that is cut off before any other event can resume
   * too.
   */
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

  /** Skips events that do not concern the client. */
  passTo(position: number): void {
    this.#position = Math.max(this.#position, position);
  }

  /** Skipped while the client is behind: the next progress event replaces it. */
  tellProgress(progress: ProgressEvent, text: string): void {
    if (this.#blocked || this.#told.get(progress.jobId) === text) return;
    this.#told.set(progress.jobId, text);
    this.#write(`event: progress\ndata: ${text}\n\n`);
  }

  /** Skipped while the client is behind, like progress. */
  tellCounter(event: CounterEvent): void {
    const text = JSON.stringify(event);
    if (this.#blocked || this.#toldCounters.get(event.counter) === text) return;
    this.#toldCounters.set(event.counter, text);
    this.#write(`event: counter\ndata: ${text}\n\n`);
  }

  /** Forgets the last progress of jobs that are no longer watched. */
  forgetProgress(watched: ReadonlySet<string>): void {
    for (const jobId of this.#told.keys()) if (!watched.has(jobId)) this.#told.delete(jobId);
  }

  /** Resolves when the client has read what was sent, or has disconnected. */
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

  /** Sends heartbeats, without waiting for the permission check that accompanies each one. */
  async #keepAlive(): Promise<void> {
    for (;;) {
      await waitMs(this.#options.heartbeatMs, this.#ended.signal);
      if (this.#ended.signal.aborted) return;
      if (!this.#blocked) this.#write(': still here\n\n');
      this.#check ??= this.#endUnlessAllowed();
    }
  }

  /** Ends the stream if the client may no longer listen, or if the check fails. */
  async #endUnlessAllowed(): Promise<void> {
    const may = await this.#options.mayListen().catch(() => false);
    this.#check = null;
    if (!may) this.end();
  }
}

/** The event in the form of the contract. */
export function toJobEvent({ eventId: _, ...event }: StoredJobEvent): JobEvent {
  return { ...event, at: event.at.toISOString() } as JobEvent;
}
