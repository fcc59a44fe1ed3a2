// Outcomes of items are written by COPY in text format. The lines of the three tables are built next to the columns
// they must match.
import type { ErrorClass, ItemStatus } from '../../../core/items/outcome.ts';
import type { Statement, Transaction } from '../../../platform/database.ts';
import { jsonField, NULL_FIELD, optionalText, textField } from './copy-rows.ts';

const COPY_RESULTS: Statement = {
  name: 'copy-results',
  text: 'copy result_rows (job_id, seq, generation, phase, attempt, status, handler_ms, error_class, error, result, signature) from stdin',
};
// Used if calls have costs; otherwise each row saves a field.
const COPY_RESULTS_AND_COST: Statement = {
  name: 'copy-results-and-cost',
  text: 'copy result_rows (job_id, seq, generation, phase, attempt, status, handler_ms, error_class, error, result, signature, cost) from stdin',
};
const COPY_STAGE_OUTPUTS: Statement = {
  name: 'copy-stage-outputs',
  text: 'copy stage_outputs (job_id, seq, generation, phase, output_bytes, output) from stdin',
};
const COPY_STAGE_OUTPUTS_AND_COST: Statement = {
  name: 'copy-stage-outputs-and-cost',
  text: 'copy stage_outputs (job_id, seq, generation, phase, output_bytes, output, cost) from stdin',
};
const COPY_ATTEMPT_ERRORS: Statement = {
  name: 'copy-attempt-errors',
  text: 'copy attempt_errors (job_id, seq, generation, phase, attempt, error_class, error) from stdin',
};
const COPY_ATTEMPT_ERRORS_AND_COST: Statement = {
  name: 'copy-attempt-errors-and-cost',
  text: 'copy attempt_errors (job_id, seq, generation, phase, attempt, error_class, error, cost) from stdin',
};

export interface StoredFailure {
  class: ErrorClass;
  message: string;
}

/** Outcomes of items of one job, generation and phase, as lines of three tables. */
export class OutcomeLines {
  readonly #jobId: string;
  readonly #middle: string;
  readonly #withCost: boolean;
  #results = '';
  #outputs = '';
  #attemptErrors = '';

  /** `withCost`: at least one outcome has a cost. */
  constructor(of: { jobId: string; generation: number; phase: number }, withCost = false) {
    this.#jobId = of.jobId;
    this.#middle = `\t${of.generation}\t${of.phase}\t`;
    this.#withCost = withCost;
  }

  result(
    seq: number,
    attempt: number,
    status: ItemStatus,
    handlerMs: number | null,
    failure: StoredFailure | null,
    json: string | null,
    signature: string | null,
    cost?: number | null,
  ): void {
    const took = handlerMs === null ? NULL_FIELD : Math.round(handlerMs * 10) / 10;
    const error = failure === null ? '\\N\t\\N' : `${failure.class}\t${textField(failure.message)}`;
    this.#results += `${this.#jobId}\t${seq}${this.#middle}${attempt}\t${status}\t${took}\t${error}\t${
      json === null ? NULL_FIELD : jsonField(json)
    }\t${optionalText(signature)}${this.#costField(cost)}\n`;
  }

  output(seq: number, json: string | null, cost?: number | null): void {
    const output = json === null ? `0\t${NULL_FIELD}` : `${Buffer.byteLength(json)}\t${jsonField(json)}`;
    this.#outputs += `${this.#jobId}\t${seq}${this.#middle}${output}${this.#costField(cost)}\n`;
  }

  attemptError(seq: number, attempt: number, failure: StoredFailure, cost?: number | null): void {
    this.#attemptErrors += `${this.#jobId}\t${seq}${this.#middle}${attempt}\t${failure.class}\t${textField(failure.message)}${this.#costField(cost)}\n`;
  }

  async copy(tx: Transaction): Promise<void> {
    const copy = async (plain: Statement, withCost: Statement, lines: string): Promise<void> => {
      if (lines) await tx.copy(this.#withCost ? withCost : plain, lines);
    };
    await copy(COPY_RESULTS, COPY_RESULTS_AND_COST, this.#results);
    await copy(COPY_STAGE_OUTPUTS, COPY_STAGE_OUTPUTS_AND_COST, this.#outputs);
    await copy(COPY_ATTEMPT_ERRORS, COPY_ATTEMPT_ERRORS_AND_COST, this.#attemptErrors);
  }

  #costField(cost: number | null | undefined): string {
    return this.#withCost ? `\t${cost ?? NULL_FIELD}` : '';
  }
}
