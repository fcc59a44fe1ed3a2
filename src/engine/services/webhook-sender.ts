// Sends events to webhooks. Processes claim messages under leases, so several can share the work. A slow receiver
// occupies at most two slots of a process. Tests call `runOnce`, which also waits for the responses.

import { faultPoint } from '../../platform/fault-point.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { newId } from '../../platform/random.ts';
import { checkMailSettings } from '../../platform/send-mail.ts';
import { type ClaimedDelivery, claimDeliveries } from '../../store/commands/events/claim-deliveries.ts';
import type { EngineContext } from '../engine-context.ts';
import { checkSecretKey } from '../webhooks/secret-box-of.ts';
import { type Sending, sendDelivery } from '../webhooks/send-delivery.ts';
import { takeEvents } from '../webhooks/take-events.ts';
import { guardOf } from '../webhooks/webhook-target.ts';

const LOOK_MS = 500;
/** Time to write the result after the response timeout. */
const LEASE_MARGIN_MS = 30_000;

export class WebhookSender {
  readonly name = 'webhook sender';
  readonly #context: EngineContext;
  readonly #sending: Sending;
  readonly #stopping = new AbortController();
  readonly #looking: PeriodicService;
  #claiming: Promise<void> = Promise.resolve();
  /** Hosts of messages that wait for a response. */
  readonly #hosts: string[] = [];
  /** Each resolves when its slot has been refilled or needs no refill. */
  readonly #sends = new Set<Promise<void>>();

  /** Throws on unusable settings. */
  constructor(context: EngineContext, { lookMs = LOOK_MS } = {}) {
    const { settings, events } = context;
    checkSecretKey(settings);
    checkMailSettings(settings);
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

  /** Aborts messages in flight; another process sends them when their lease expires. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the sender is stopping'));
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

  /** One claim at a time, so that each counts the slots that the previous one took. */
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
    // The slot is free: claim the next message without waiting for the next poll.
    try {
      await this.#claim();
    } catch (error) {
      events.emit('service.failed', { service: this.name, error });
    }
  }
}
