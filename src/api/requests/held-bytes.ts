// Bytes of request bodies that this process has in memory, by client address and in all. A body counts from its first byte
// until its request is answered, because what was made of it lives as long.
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
    // A single body of the largest size always fits.
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

  /** One request of an address. */
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
        `expected the bodies of all requests from one address to have at most ${this.#maxOfAddress} bytes at once (apiAddressHeldBytes)`,
        RETRY_MS,
      );
    if (this.#all + bytes > this.#max)
      throw new RetryLaterError(
        'SERVER_BUSY',
        `the server holds bodies of ${this.#all} bytes, and at most ${this.#max} at once (apiHeldBytes)`,
        RETRY_MS,
      );
  }
}
