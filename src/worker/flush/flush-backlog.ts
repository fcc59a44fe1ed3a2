// Outcomes that are not committed yet, by items and by bytes, against the bound at which nothing more is claimed or started.
import { type BufferLevel, bufferLevel } from '../../core/limits/buffer-level.ts';
import type { Events } from '../../platform/events.ts';
import type { Settings } from '../../platform/settings.ts';

/** Bytes of outcomes that may wait, in flushes of the largest size. */
const FLUSHES_IN_BACKLOG = 8;

export class FlushBacklog {
  readonly #maxItems: number;
  readonly #maxBytes: number;
  readonly #events: Events;
  #items = 0;
  #bytes = 0;
  #level: BufferLevel = 'calm';

  constructor({ flushBacklogItems, flushMaxBytes }: Settings, events: Events) {
    this.#maxItems = flushBacklogItems;
    this.#maxBytes = flushMaxBytes * FLUSHES_IN_BACKLOG;
    this.#events = events;
  }

  get items(): number {
    return this.#items;
  }

  /** Part of the bound that is used. */
  get fullness(): number {
    return Math.max(this.#items / this.#maxItems, this.#bytes / this.#maxBytes);
  }

  /** At this part of the bound. */
  isFullAt(share: number): boolean {
    return this.fullness >= share;
  }

  /** Outcomes came, or with negative numbers went. */
  add(items: number, bytes: number): void {
    this.#items += items;
    this.#bytes += bytes;
    const { fullness } = this;
    const [from, to] = [this.#level, bufferLevel(this.#level, fullness)];
    if (from === to) return;
    this.#level = to;
    this.#events.emit('buffer.changed', { from, to, fullness, items: this.#items, bytes: this.#bytes });
  }
}
