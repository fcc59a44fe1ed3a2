// The append-only tables are filled by COPY in text format. These functions make the lines; a value never
// reaches the server unescaped.
import type { Statement, Transaction } from '../../../platform/database.ts';

const COPY_ITEMS: Statement = {
  name: 'copy-items',
  text: 'copy items (job_id, seq, input_bytes, input, item_key, summary, repair) from stdin',
};
const COPY_REJECTED_ROWS: Statement = {
  name: 'copy-rejected-rows',
  text: 'copy rejected_rows (job_id, ordinal, line, reason, raw) from stdin',
};
const COPY_RESULTS: Statement = {
  name: 'copy-results',
  text: 'copy results (job_id, seq, generation, phase, attempt, status, handler_ms, error_class, error, result, signature) from stdin',
};
// Where calls cost something. The others are spared a field per row.
const COPY_RESULTS_AND_COST: Statement = {
  name: 'copy-results-and-cost',
  text: 'copy results (job_id, seq, generation, phase, attempt, status, handler_ms, error_class, error, result, signature, cost) from stdin',
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

export const NULL_FIELD = '\\N';

/** JSON text holds no raw tab or line break, so only its backslashes need doubling. */
export function jsonField(json: string): string {
  return json.includes('\\') ? json.replaceAll('\\', '\\\\') : json;
}

const SPECIAL_ONCE = /[\\\t\n\r]/;
const SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

export function textField(text: string): string {
  // Most texts have nothing to escape, and looking is cheaper than replacing.
  return SPECIAL_ONCE.test(text) ? escapeText(text) : text;
}

function escapeText(text: string): string {
  return text.replace(SPECIAL, (character) => ESCAPES[character]!);
}

export const copyItems = (tx: Transaction, lines: Buffer[]): Promise<void> => tx.copy(COPY_ITEMS, lines);
export const copyRejectedRows = (tx: Transaction, lines: string): Promise<void> =>
  tx.copy(COPY_REJECTED_ROWS, lines);
export const copyResults = (tx: Transaction, lines: string, withCost = false): Promise<void> =>
  tx.copy(withCost ? COPY_RESULTS_AND_COST : COPY_RESULTS, lines);
export const copyStageOutputs = (tx: Transaction, lines: string, withCost = false): Promise<void> =>
  tx.copy(withCost ? COPY_STAGE_OUTPUTS_AND_COST : COPY_STAGE_OUTPUTS, lines);
export const copyAttemptErrors = (tx: Transaction, lines: string, withCost = false): Promise<void> =>
  tx.copy(withCost ? COPY_ATTEMPT_ERRORS_AND_COST : COPY_ATTEMPT_ERRORS, lines);
