// The mapping of file columns to pipeline fields: detected by the server, changed by the user.
import type { z } from 'zod';
import type { preview as previewSchema } from '../../../src/contract/new-job.ts';

export type Preview = z.infer<typeof previewSchema>;
/** Field to header, as set by the user. */
export type Mapping = Readonly<Record<string, string>>;

/** As a header: the field gets no column. */
export const NO_COLUMN = '';

export interface ColumnChoice {
  field: string;
  required: boolean;
  /** Header of the mapped column. Null: not mapped. */
  column: string | null;
  /** Confidence of the match. Null: not mapped. */
  match: Preview['columns'][number]['match'];
  /** Set by the user, and can be reset. */
  isGiven: boolean;
  /** Likely columns, best match first. */
  suggestions: readonly string[];
}

export function columnChoices(
  preview: Pick<Preview, 'columns' | 'missing'>,
  fields: readonly { name: string; required: boolean }[],
  mapping: Mapping,
): ColumnChoice[] {
  return fields.map(({ name, required }) => {
    const mapped = preview.columns.find((column) => column.field === name);
    return {
      field: name,
      required,
      column: mapped?.header ?? null,
      match: mapped?.match ?? null,
      isGiven: Object.hasOwn(mapping, name),
      suggestions: preview.missing.find((missing) => missing.field === name)?.suggestions ?? [],
    };
  });
}

/** A column maps to one field: the previous field loses it. Null resets the field. */
export function chooseColumn(mapping: Mapping, field: string, header: string | null): Mapping {
  const rest = Object.entries(mapping).filter(
    ([other, taken]) => other !== field && (taken !== header || taken === NO_COLUMN),
  );
  return Object.fromEntries(header === null ? rest : [...rest, [field, header]]);
}

/** The mapping as the user saw it: a job takes columns with the same names by itself, but no likely ones or guesses. */
export function seenMapping(choices: readonly ColumnChoice[], mapping: Mapping): Mapping {
  const found = choices.flatMap(({ field, column, match }) =>
    column !== null && (match === 'likely' || match === 'guess') ? [[field, column] as const] : [],
  );
  return { ...Object.fromEntries(found), ...mapping };
}

export function missingRequired(choices: readonly ColumnChoice[]): string[] {
  return choices.filter(({ required, column }) => required && column === null).map(({ field }) => field);
}

/** One sentence about all fields. */
export function matchedWords(choices: readonly ColumnChoice[]): string {
  const count = choices.filter(({ column }) => column !== null).length;
  const lacking = missingRequired(choices);
  const optional = choices.filter(({ required, column }) => !required && column === null);
  const parts = [
    lacking.length > 0 && `${lacking.join(', ')} (required)`,
    optional.length > 0 && `${optional.map(({ field }) => field).join(', ')} (optional)`,
  ].filter((part) => part !== false);
  const matched = `${count} of ${choices.length} fields matched`;
  return parts.length === 0 ? `${matched}.` : `${matched}. Without a column: ${parts.join('; ')}.`;
}

/** A field without a column is reported once, not on every row. */
export function withoutProblemsOf<Row extends Pick<Preview['rows'][number], 'problems'>>(
  rows: readonly Row[],
  fields: readonly string[],
): Row[] {
  const isTold = (field: string | null): boolean => field !== null && fields.includes(field);
  return rows.map((row) => ({ ...row, problems: row.problems.filter(({ field }) => !isTold(field)) }));
}
