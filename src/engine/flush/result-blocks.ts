// Cuts the outcomes of a lease into blocks of DONE results. A block covers neighbouring items that all end in this
// flush. An item that is retried or still running ends a block, because its result comes later. Results that are alone
// stay rows.

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
  /** The open block: outcomes of neighbouring items, the last of which is DONE. */
  #open: RecordedOutcome[] = [];
  /** Ended items behind it, which belong to the block only if a DONE item follows. */
  #behind: RecordedOutcome[] = [];
  #length = 0;
  #nextSeq = -1;

  constructor(outcomes: readonly RecordedOutcome[], attempt: number, withCost: boolean) {
    this.#attempt = attempt;
    this.#withCost = withCost;
    for (const outcome of inOrder(outcomes)) this.#add(outcome);
    this.#close();
  }

  #add(outcome: RecordedOutcome): void {
    if (outcome.kind !== 'terminal') return;
    const length = lineLength(outcome);
    const isFull =
      this.#open.length + this.#behind.length >= BLOCK.seqs || this.#length + length > BLOCK.length;
    if (outcome.seq !== this.#nextSeq || isFull) this.#close();
    this.#nextSeq = outcome.seq + 1;
    if (isLine(outcome)) {
      for (const ended of this.#behind.splice(0)) this.#open.push(ended);
      this.#open.push(outcome);
      this.#length += length;
    } else {
      if (this.#open.length > 0) this.#behind.push(outcome);
      if (outcome.status === 'DONE') this.rows.push(outcome);
    }
  }

  #close(): void {
    const outcomes = this.#open;
    this.#open = [];
    this.#behind = [];
    this.#length = 0;
    const done = outcomes.filter(isLine);
    if (done.length < FEWEST) this.rows.push(...done);
    else this.blocks.push(this.#blockOf(outcomes, done.length));
  }

  #blockOf(outcomes: readonly RecordedOutcome[], itemCount: number): ResultBlock {
    let lines = '';
    let handlerMs = '';
    let costs = '';
    for (const outcome of outcomes) {
      lines += isLine(outcome) ? `${outcome.json ?? NO_RESULT}\n` : '\n';
      handlerMs += `${isLine(outcome) ? Math.round(outcome.handlerMs * 10) / 10 : 'null'},`;
      if (this.#withCost) costs += `${isLine(outcome) ? (outcome.cost ?? 'null') : 'null'},`;
    }
    const firstSeq = outcomes[0]!.seq;
    return {
      firstSeq,
      upto: firstSeq + outcomes.length,
      attempt: this.#attempt,
      itemCount,
      lines: lines.slice(0, -1),
      handlerMs: `{${handlerMs.slice(0, -1)}}`,
      costs: costs && `{${costs.slice(0, -1)}}`,
    };
  }
}

/**
 * True if it is DONE, short, and without an escaped character. jsonb refuses some of those characters, and a flush can
 * still record the item as failed, while a read of the block could only fail.
 */
function isLine({ status, json }: RecordedOutcome): boolean {
  return status === 'DONE' && (json === null || (json.length <= LINE_LENGTH && !json.includes('\\u')));
}

function lineLength(outcome: RecordedOutcome): number {
  return isLine(outcome) ? (outcome.json?.length ?? 1) + 1 : 1;
}

/** Most leases record their outcomes in the order of their items. */
function inOrder(outcomes: readonly RecordedOutcome[]): readonly RecordedOutcome[] {
  let last = -1;
  for (const { seq } of outcomes) {
    if (seq < last) return outcomes.toSorted((a, b) => a.seq - b.seq);
    last = seq;
  }
  return outcomes;
}
