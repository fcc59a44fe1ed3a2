// The mapping of file columns to pipeline fields: detected by the server, changed by the user.
import type { z } from 'zod';
import type { preview as previewSchema } from '../../../src/contract/new-job.ts';

export type Preview = z.infer<typeof previewSchema>;
/** Field to header, as set by the user. */
export type Mapping = Readonly<Record<string, string>>;

export interface ColumnChoice {
  field: string;
  required: boolean;
  /** Header of the mapped column. Null: not mapped. */
  column: string | null;
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
  return fields.map(({ name, required }) => ({
    field: name,
    required,
    column: preview.columns.find((column) => column.field === name)?.header ?? null,
    isGiven: Object.hasOwn(mapping, name),
    suggestions: preview.missing.find((missing) => missing.field === name)?.suggestions ?? [],
  }));
}

/** A column maps to one field: the previous field loses it. */
export function chooseColumn(mapping: Mapping, field: string, header: string | null): Mapping {
  const rest = Object.entries(mapping).filter(([other, taken]) => other !== field && taken !== header);
  return Object.fromEntries(header === null ? rest : [...rest, [field, header]]);
}

export function missingRequired(choices: readonly ColumnChoice[]): string[] {
  return choices.filter(({ required, column }) => required && column === null).map(({ field }) => field);
}

/** A field without a column is reported once, not on every row. */
export function withoutProblemsOf<Seen extends Pick<Preview, 'rows'>>(
  preview: Seen,
  fields: readonly string[],
): Seen {
  const isTold = (field: string | null): boolean => field !== null && fields.includes(field);
  const rows = preview.rows.map((row) => ({
    ...row,
    problems: row.problems.filter(({ field }) => !isTold(field)),
  }));
  return { ...preview, rows };
}
