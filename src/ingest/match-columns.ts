// Maps the columns of a table for a preview, with the confidence of each match. With `guess`, fields that names and
// synonyms leave without a column get the one whose name or values fit best.
import { guessColumns, type MatchConfidence } from '../core/files/guess-columns.ts';
import { mapColumns } from '../core/files/map-columns.ts';
import type { InputColumn } from '../core/items/input-column.ts';
import { fieldsOf, shareThatFits } from '../pipeline/input-schema.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { ReadRow, RowReader } from './row-reader.ts';

export interface MatchedColumns {
  /** One per header; null: not stored. */
  columns: (InputColumn | null)[];
  /** By field. */
  matches: Map<string, MatchConfidence>;
}

export interface MatchOptions {
  /** Header by field, as given by a person. */
  mapping: Record<string, string>;
  guess: boolean;
}

/** Rows whose values are tried against fields, and columns and characters of each: wide files have other columns. */
const SAMPLE_ROWS = 50;
const SAMPLE_COLUMNS = 200;
const SAMPLE_CHARACTERS = 1000;
/** Values that fit less than this make a synonym a guess. */
const MIN_FIT = 0.5;

export async function matchColumns(
  headers: string[],
  pipeline: Pipeline | null,
  { mapping, guess }: MatchOptions,
  sample: readonly ReadRow[],
): Promise<MatchedColumns> {
  const fields = pipeline === null ? null : fieldsOf(pipeline.input);
  // A field without a column is reported with the other problems instead of refused.
  const optional = fields?.map(({ name }) => ({ name, required: false })) ?? null;
  const mapped = mapColumns(headers, optional, mapping);
  if (!guess || fields === null) return mapped;
  const fits = await findFits(pipeline!, fields, headers, sample);
  const fitOf = (field: string, column: number): number | null => fits.get(field)?.[column] ?? null;
  const matches = new Map<string, MatchConfidence>(mapped.matches);
  for (const [at, column] of mapped.columns.entries())
    if (column && matches.get(column.key) === 'likely' && (fitOf(column.key, at) ?? 1) < MIN_FIT)
      matches.set(column.key, 'guess');
  const open = fields.filter(({ name }) => !matches.has(name) && !Object.hasOwn(mapping, name));
  const taken = new Set(
    mapped.columns.flatMap((column, at) => (column && matches.has(column.key) ? [at] : [])),
  );
  const guessed = guessColumns(headers, open, taken, fitOf);
  if (guessed.size === 0) return { columns: mapped.columns, matches };
  for (const [name, { confidence }] of guessed) matches.set(name, confidence);
  const wanted = Object.fromEntries([...guessed].map(([name, { column }]) => [name, headers[column]!]));
  const { columns } = mapColumns(headers, optional, { ...mapping, ...wanted });
  return { columns, matches };
}

/** By field, the share of the sampled values of each column that it accepts. */
async function findFits(
  pipeline: Pipeline,
  fields: readonly { name: string }[],
  headers: string[],
  sample: readonly ReadRow[],
): Promise<Map<string, (number | null)[]>> {
  const rows = sample.flatMap((row) => (row.kind === 'cells' ? [row.cells] : [])).slice(0, SAMPLE_ROWS);
  const fits = new Map<string, (number | null)[]>();
  for (const { name } of fields) {
    const shares: (number | null)[] = [];
    for (let at = 0; at < Math.min(headers.length, SAMPLE_COLUMNS); at += 1) {
      const values = rows.map((cells) => cells[at]).filter(isFilled);
      shares.push(await shareThatFits(pipeline.input, name, values));
    }
    fits.set(name, shares);
  }
  return fits;
}

function isFilled(value: unknown): boolean {
  return typeof value !== 'string' || (value.trim() !== '' && value.length <= SAMPLE_CHARACTERS);
}

/** The first rows, and a reader that returns them again before the others. It can be read once. */
export async function peekRows(reader: RowReader): Promise<{ sample: ReadRow[]; reader: RowReader }> {
  const rows = reader.rows();
  const first = await rows.next();
  const sample = first.done ? [] : first.value;
  return {
    sample,
    reader: {
      ...reader,
      async *rows() {
        yield sample;
        yield* rows;
      },
    },
  };
}
