// Counts the bytes of request bodies in memory, per client address and in total. A body counts from its first byte
// until its request is answered, because the objects parsed from it live that long.
import { Gauge } from 'prom-client';
import { addressGroup } from '../../core/accounts/address-group.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Settings } from '../../platform/settings.ts';
import { RetryLaterError } from './answer-error.ts';

const RETRY_MS = 5000;

export class HeldBytes {
  readonly #max: number;
  readonly #maxOfAddress: number;
  readonly #ofAddress = new Map<string, number>();
  #all = 0;

  constructor(
    settings: Pick<Settings, 'apiHeldBytes' | 'apiAddressHeldBytes' | 'apiItemsMaxBytes'>,
    { registry }: Pick<Metrics, 'registry'>,
  ) {
    // A single body of the maximum size always fits.
    this.#maxOfAddress = Math.max(settings.apiAddressHeldBytes, settings.apiItemsMaxBytes);
    this.#max = Math.max(settings.apiHeldBytes, settings.apiItemsMaxBytes);
    const read = (): number => this.#all;
    new Gauge({
      name: 'rowmill_request_body_bytes',
      help: 'Bytes of request bodies in memory',
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** Starts counting one request of an address. */
  open(address: string): { add(bytes: number): void; release(): void } {
    const group = addressGroup(address);
    let held = 0;
    const change = (bytes: number): void => {
      held += bytes;
      this.#all += bytes;
      const left = (this.#ofAddress.get(group) ?? 0) + bytes;
      if (left > 0) this.#ofAddress.set(group, left);
      else this.#ofAddress.delete(group);
    };
    return {
      add: (bytes) => {
        this.#refuseOver(group, bytes);
        change(bytes);
      },
      release: () => change(-held),
    };
  }

  #refuseOver(group: string, bytes: number): void {
    if ((this.#ofAddress.get(group) ?? 0) + bytes > this.#maxOfAddress)
      throw new RetryLaterError(
        'RATE_LIMITED',
        `expected the concurrent requests of one address to have at most ${this.#maxOfAddress} bytes of bodies (apiAddressHeldBytes)`,
        RETRY_MS,
      );
    if (this.#all + bytes > this.#max)
      throw new RetryLaterError(
        'SERVER_BUSY',
        `the server holds ${this.#all} bytes of request bodies, and accepts at most ${this.#max} (apiHeldBytes)`,
        RETRY_MS,
      );
  }
}
