// The spans that a flush adds: items that advance to the next phase, and items to retry. One span per distinct
// ready time, to keep the rows few.
import { addFailure, NO_FAILURES } from '../../core/errors/failure-counts.ts';
import type { ErrorClass } from '../../core/items/outcome.ts';
import { rangesOf } from '../../core/items/seq-ranges.ts';
import type { NewSpan } from '../../store/commands/spans/insert-spans.ts';
import type { LeaseOutcomes } from './flush-outcomes.ts';

export class NextSpans {
  readonly #phase: number;
  readonly #seqs = new Map<string, { span: Omit<NewSpan, 'items'>; seqs: number[] }>();

  constructor(phase: number) {
    this.#phase = phase;
  }

  advance(priority: number, seq: number): void {
    const span = {
      phase: this.#phase + 1,
      priority,
      delayMs: 0,
      attempt: 0,
      failures: NO_FAILURES,
      crashes: 0,
    };
    this.#add(span, seq);
  }

  retry(lease: LeaseOutcomes, errorClass: ErrorClass, delayMs: number, seq: number): void {
    // The item returned, so it does not crash its process: its crashes are reset. Ready times are rounded up to a
    // tenth of the delay, so that retries of one flush share spans.
    const step = Math.max(50, 10 ** Math.floor(Math.log10(Math.max(delayMs, 10))));
    const rounded = Math.ceil(delayMs / step) * step;
    const { priority } = lease;
    const attempt = lease.attempt + 1;
    const failures = addFailure(lease.failures, errorClass);
    this.#add({ phase: this.#phase, priority, delayMs: rounded, attempt, failures, crashes: 0 }, seq);
  }

  #add(span: Omit<NewSpan, 'items'>, seq: number): void {
    const key = `${span.phase} ${span.priority} ${span.delayMs} ${span.attempt} ${span.failures}`;
    const known = this.#seqs.get(key);
    if (known) known.seqs.push(seq);
    else this.#seqs.set(key, { span, seqs: [seq] });
  }

  collect(): NewSpan[] {
    return [...this.#seqs.values()].map(({ span, seqs }) => ({ ...span, items: rangesOf(seqs) }));
  }
}
