// Collects the outcomes of the calls of a run, as the flush would store them.
import { errorSignature } from '../core/errors/error-signature.ts';
import type { Failure, ItemStatus } from '../core/items/outcome.ts';
import { ITEM_STATUSES } from '../core/items/outcome.ts';
import { addToGroup, type ErrorGroupDelta } from '../store/commands/results/upsert-error-groups.ts';
import type { LogEntry } from './captured-log.ts';
import type { CountedEntry } from './counted-entries.ts';
import type { HistoryEntry, PipelineRun, RowResult } from './pipeline-run.ts';

export interface EndedCall {
  seq: number;
  phase: string;
  attempt: number;
  atMs: number;
  outcome: HistoryEntry['outcome'];
  failure: Failure | null;
  retryAfterMs: number | null;
}

export class RunRecorder {
  readonly #rows: readonly Record<string, unknown>[];
  readonly #histories: HistoryEntry[][];
  readonly #results: RowResult[] = [];
  /** By phase, then by signature. */
  readonly #groups = new Map<string, Map<string, ErrorGroupDelta>>();
  readonly #logs: LogEntry[] = [];

  constructor(rows: readonly Record<string, unknown>[]) {
    this.#rows = rows;
    this.#histories = rows.map(() => []);
  }

  /** Adds the history of an emitted row, which is already in `#rows`. */
  addRow(): void {
    this.#histories.push([]);
  }

  log(entry: LogEntry): void {
    this.#logs.push(entry);
  }

  addCall({ seq, failure, ...call }: EndedCall, isFinal = false): void {
    this.#histories[seq]!.push({
      ...call,
      errorClass: failure?.class ?? null,
      error: failure?.message ?? null,
    });
    if (failure) this.#addToGroups(call.phase, failure, seq, isFinal);
  }

  addResult(call: EndedCall, status: ItemStatus, json: string | null): void {
    this.addCall(call, true);
    const { seq, failure, attempt, phase } = call;
    this.#results[seq] = {
      seq,
      row: this.#rows[seq]!,
      status,
      result: json === null ? null : (JSON.parse(json) as unknown),
      errorClass: failure?.class ?? null,
      error: failure?.message ?? null,
      attempts: attempt,
      phase,
      history: this.#histories[seq]!,
    };
  }

  finish(virtualMs: number, counted: CountedEntry[]): PipelineRun {
    const counts = Object.fromEntries(ITEM_STATUSES.map((status) => [status, 0])) as Record<
      ItemStatus,
      number
    >;
    for (const { status } of this.#results) counts[status] += 1;
    const errorGroups = [...this.#groups]
      .flatMap(([phase, groups]) => [...groups.values()].map((group) => ({ phase, ...group })))
      .sort((a, b) => b.occurrences - a.occurrences);
    return { results: this.#results, counts, errorGroups, counted, virtualMs, logs: this.#logs };
  }

  #addToGroups(phase: string, failure: Failure, seq: number, isFinal: boolean): void {
    const groups = this.#groups.get(phase) ?? new Map<string, ErrorGroupDelta>();
    this.#groups.set(phase, groups);
    addToGroup(groups, errorSignature(failure.class, failure.message), failure, seq, isFinal);
  }
}
