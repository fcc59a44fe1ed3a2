// Uncommitted outcomes, by items and by bytes, against the bound at which the worker stops claiming and starting items.
import { type BufferLevel, bufferLevel } from '../../core/limits/buffer-level.ts';
import type { Events } from '../../platform/events.ts';
import type { Settings } from '../../platform/settings.ts';

/** The bound in bytes, as a multiple of `flushMaxBytes`. */
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

  /** Share of the bound in use: 1 is full. */
  get fullness(): number {
    return Math.max(this.#items / this.#maxItems, this.#bytes / this.#maxBytes);
  }

  isFullAt(share: number): boolean {
    return this.fullness >= share;
  }

  /** Adds outcomes to the backlog; negative numbers remove them. */
  add(items: number, bytes: number): void {
    this.#items += items;
    this.#bytes += bytes;
    const { fullness } = this;
    const from = this.#level;
    const to = bufferLevel(from, fullness);
    if (from === to) return;
    this.#level = to;
    this.#events.emit('buffer.changed', { from, to, fullness, items: this.#items, bytes: this.#bytes });
  }
}
