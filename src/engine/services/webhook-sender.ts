// Tells webhooks what happened. Every process that runs it takes messages under leases, so many share the work; a slow
// receiver keeps two of a process's places busy and no more. Tests call `runOnce`, which also waits for the answers.

import { faultPoint } from '../../platform/fault-point.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { newId } from '../../platform/random.ts';
import { type ClaimedDelivery, claimDeliveries } from '../../store/commands/events/claim-deliveries.ts';
import type { EngineContext } from '../engine-context.ts';
import { checkSecretKey } from '../webhooks/secret-box-of.ts';
import { type Sending, sendDelivery } from '../webhooks/send-delivery.ts';
import { takeEvents } from '../webhooks/take-events.ts';
import { guardOf } from '../webhooks/webhook-target.ts';

const LOOK_MS = 500;
/** For the result to be written after the time for the answer is over. */
const LEASE_MARGIN_MS = 30_000;

export class WebhookSender {
  readonly name = 'webhook sender';
  readonly #context: EngineContext;
  readonly #sending: Sending;
  readonly #stopping = new AbortController();
  readonly #looking: PeriodicService;
  #claiming: Promise<void> = Promise.resolve();
  /** Of messages that wait for their answer. */
  readonly #hosts: string[] = [];
  /** Each ends when its place has been filled again, or need not be. */
  readonly #sends = new Set<Promise<void>>();

  /** Refuses settings that it could not work with. */
  constructor(context: EngineContext, { lookMs = LOOK_MS } = {}) {
    const { settings, events } = context;
    checkSecretKey(settings);
    this.#context = context;
    this.#sending = {
      guard: guardOf(settings),
      maxAttempts: settings.webhookMaxAttempts,
      signal: this.#stopping.signal,
    };
    this.#looking = new PeriodicService({
      name: this.name,
      intervalMs: lookMs,
      events,
      work: () => this.#look(),
    });
  }

  start(): void {
    this.#looking.start();
  }

  /** What is under way is cut off; another process sends it when its lease is over. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the sender stops'));
    await this.#looking.stop();
    await this.#whenSent();
  }

  async runOnce(): Promise<void> {
    await this.#looking.runOnce();
    await this.#whenSent();
  }

  async #whenSent(): Promise<void> {
    while (this.#sends.size > 0) await Promise.all(this.#sends);
  }

  async #look(): Promise<void> {
    await takeEvents(this.#context);
    await this.#claim();
  }

  /** One at a time, so that each counts what the one before it took. */
  #claim(): Promise<void> {
    this.#claiming = this.#claiming.catch(() => {}).then(() => this.#claimFree());
    return this.#claiming;
  }

  async #claimFree(): Promise<void> {
    const { db, settings } = this.#context;
    const hosts = this.#hosts;
    const free = settings.webhooksAtOnce - hosts.length;
    if (free <= 0 || this.#stopping.signal.aborted) return;
    const full = hosts.filter((host, at) => hosts.indexOf(host) !== at);
    const claimed = await claimDeliveries(db, {
      fullHosts: full,
      halfHosts: hosts.filter((host) => !full.includes(host)),
      limit: free,
      token: newId(),
      leaseMs: settings.webhookTimeoutMs + LEASE_MARGIN_MS,
    });
    if (claimed.length > 0) faultPoint('webhook.after_claim');
    for (const delivery of claimed) this.#send(delivery);
  }

  #send(delivery: ClaimedDelivery): void {
    const sent: Promise<void> = this.#deliver(delivery).finally(() => this.#sends.delete(sent));
    this.#sends.add(sent);
  }

  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    const { events } = this.#context;
    this.#hosts.push(delivery.host);
    try {
      await sendDelivery(this.#context, delivery, this.#sending);
    } catch (error) {
      events.emit('service.failed', { service: this.name, error });
    }
    this.#hosts.splice(this.#hosts.indexOf(delivery.host), 1);
    // The place is free: the next one need not wait for the next look.
    try {
      await this.#claim();
    } catch (error) {
      events.emit('service.failed', { service: this.name, error });
    }
  }
}
