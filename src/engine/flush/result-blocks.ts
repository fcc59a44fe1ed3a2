// Cuts the outcomes of a lease into blocks of DONE results. A block covers neighbouring items that all end in this
// flush. An item that is retried or still running ends a block, because its result comes later. Results that are alone
// stay rows.

import { rangesOf, type SeqRanges } from '../../core/items/seq-ranges.ts';
import type { ResultBlock } from '../../store/commands/results/result-block.ts';
import { NO_RESULT } from '../../store/views/results/stored-results.ts';
import type { RecordedOutcome } from './flush-outcomes.ts';

/** Most seqs of a block, and most characters. Reading one item reads its block. */
const BLOCK = { seqs: 500, length: 256 * 1024 };
/** A longer result stays a row, so that no block is much longer than its limit. */
const LINE_LENGTH = 8 * 1024;
/** With fewer results a block costs more than its rows. */
const FEWEST = 16;

export class ResultBlocks {
  readonly blocks: ResultBlock[] = [];
  /** DONE outcomes of the lease that are in no block. */
  readonly rows: RecordedOutcome[] = [];
  readonly #attempt: number;
  readonly #withCost: boolean;
  /** The lines of the open block. */
  #done: RecordedOutcome[] = [];
  #lines = '';
  #handlerMs = '';
  #costs = '';
  #firstSeq = 0;
  /** Seqs from the first to the last line. */
  #seqs = 0;
  /** Ended items behind the last line, which belong to the block only if another line follows. */
  #behind = 0;
  #nextSeq = -1;

  constructor(attempt: number, withCost: boolean) {
    this.#attempt = attempt;
    this.#withCost = withCost;
  }

  /** Adds a terminal outcome. They come in the order of their items. */
  add(outcome: RecordedOutcome): void {
    const { seq, handlerMs, cost } = outcome;
    const line = lineOf(outcome);
    const isFull =
      this.#seqs + this.#behind >= BLOCK.seqs || this.#lines.length + (line?.length ?? 0) > BLOCK.length;
    if (seq !== this.#nextSeq || isFull) this.#closeBlock();
    this.#nextSeq = seq + 1;
    if (line === null) {
      if (this.#seqs > 0) this.#behind += 1;
      if (outcome.status === 'DONE') this.rows.push(outcome);
      return;
    }
    if (this.#seqs === 0) this.#firstSeq = seq;
    this.#fillUp();
    this.#seqs += 1;
    this.#done.push(outcome);
    this.#lines += `${line}\n`;
    this.#handlerMs += `${Math.round(handlerMs * 10) / 10},`;
    if (this.#withCost) this.#costs += `${cost ?? 'null'},`;
  }

  /** Adds an empty line for each item behind the last line. */
  #fillUp(): void {
    const count = this.#behind;
    if (count === 0) return;
    this.#behind = 0;
    this.#seqs += count;
    this.#lines += '\n'.repeat(count);
    this.#handlerMs += 'null,'.repeat(count);
    if (this.#withCost) this.#costs += 'null,'.repeat(count);
  }

  /** Call after the last outcome. */
  close(): this {
    this.#closeBlock();
    return this;
  }

  #closeBlock(): void {
    const itemCount = this.#done.length;
    if (itemCount < FEWEST) this.rows.push(...this.#done);
    else
      this.blocks.push({
        firstSeq: this.#firstSeq,
        upto: this.#firstSeq + this.#seqs,
        attempt: this.#attempt,
        itemCount,
        lines: this.#lines.slice(0, -1),
        handlerMs: `{${this.#handlerMs.slice(0, -1)}}`,
        costs: this.#costs && `{${this.#costs.slice(0, -1)}}`,
      });
    this.#done = [];
    this.#lines = '';
    this.#handlerMs = '';
    this.#costs = '';
    this.#seqs = 0;
    this.#behind = 0;
  }
}

/**
 * Null unless the outcome is DONE, short, and without an escaped character. jsonb refuses some of those characters, and a
 * flush can still record the item as failed, while a read of the block could only fail.
 */
function lineOf({ status, json }: RecordedOutcome): string | null {
  if (status !== 'DONE') return null;
  if (json === null) return NO_RESULT;
  return json.length <= LINE_LENGTH && !json.includes('\\u') ? json : null;
}

/** The outcomes in the order of their items, and their seqs. Most leases record them in this order. */
export function inOrder(outcomes: readonly RecordedOutcome[]): {
  ordered: readonly RecordedOutcome[];
  recorded: SeqRanges;
} {
  const recorded: [number, number][] = [];
  let last: [number, number] | null = null;
  for (const { seq } of outcomes) {
    if (last !== null && seq === last[1]) last[1] = seq + 1;
    else if (last === null || seq > last[1]) {
      last = [seq, seq + 1];
      recorded.push(last);
    } else {
      const ordered = outcomes.toSorted((a, b) => a.seq - b.seq);
      return { ordered, recorded: rangesOf(ordered.map((outcome) => outcome.seq)) };
    }
  }
  return { ordered: outcomes, recorded };
}
