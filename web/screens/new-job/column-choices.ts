// Which column of the file feeds which field of the pipeline: as the server found it, and as somebody changes it.
import type { z } from 'zod';
import type { preview as previewSchema } from '../../../src/contract/new-job.ts';

export type Preview = z.infer<typeof previewSchema>;
/** Field to header, as somebody said it. */
export type Mapping = Readonly<Record<string, string>>;

export interface ColumnChoice {
  field: string;
  required: boolean;
  /** Header of the column that feeds it; null: none does. */
  column: string | null;
  /** Somebody said so; it can be taken back. */
  isGiven: boolean;
  /** Columns that could be meant, the nearest first. */
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

/** A column feeds one field: whoever had it before gives it up. */
export function chooseColumn(mapping: Mapping, field: string, header: string | null): Mapping {
  const rest = Object.entries(mapping).filter(([other, taken]) => other !== field && taken !== header);
  return Object.fromEntries(header === null ? rest : [...rest, [field, header]]);
}

export function missingRequired(choices: readonly ColumnChoice[]): string[] {
  return choices.filter(({ required, column }) => required && column === null).map(({ field }) => field);
}

/** A field without a column is told once, not on every row. */
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
