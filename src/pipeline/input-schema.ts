// The parts of an input schema that Rowmill needs, for any Standard Schema (zod, valibot, arktype …).
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { MAX_ERROR_LENGTH } from '../core/errors/classify-error.ts';
import { issueWords } from '../core/items/issue-words.ts';
import type { InputField } from '../core/files/map-columns.ts';
import { toStorableText } from '../core/items/storable-json.ts';

export type InputSchema = StandardSchemaV1<unknown, unknown>;

export type Checked = { ok: true; input: unknown } | { ok: false; message: string };

const MAX_ISSUES = 10;

/** Checks an input against the schema. The result is a promise only if the schema is asynchronous. */
export function checkInput(schema: InputSchema, input: unknown): Checked | Promise<Checked> {
  try {
    const validated = schema['~standard'].validate(input);
    return validated instanceof Promise
      ? validated.then((result) => toChecked(result, input), refused)
      : toChecked(validated, input);
  } catch (error) {
    return refused(error);
  }
}

export interface SchemaIssue {
  /** Path of the field; null for the row as a whole. */
  field: string | null;
  message: string;
  /** The message without the value: equal for rows with the same problem. */
  kind: string;
}

/** Like `checkInput`, but returns each issue separately. */
export async function listIssues(schema: InputSchema, input: unknown): Promise<SchemaIssue[]> {
  try {
    const { issues = [] } = await schema['~standard'].validate(input);
    return issues.slice(0, MAX_ISSUES).map((issue) => ({
      field: pathOf(issue) || null,
      message: toStorableText(wordsOf(issue, input), MAX_ERROR_LENGTH),
      kind: toStorableText(issueWords(issue, input, { showsValue: false }), MAX_ERROR_LENGTH),
    }));
  } catch (error) {
    const refusal = refused(error) as { message: string };
    return [{ field: null, message: refusal.message, kind: refusal.message }];
  }
}

function pathOf(issue: StandardSchemaV1.Issue): string {
  return (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
}

function wordsOf(issue: StandardSchemaV1.Issue, input: unknown): string {
  return issueWords(issue, input, { showsValue: true });
}

function toChecked(validated: StandardSchemaV1.Result<unknown>, input: unknown): Checked {
  if (validated.issues === undefined) return { ok: true, input: validated.value };
  const message = validated.issues
    .slice(0, MAX_ISSUES)
    .map((issue) => {
      const path = pathOf(issue);
      const words = wordsOf(issue, input);
      return path === '' ? words : `${path}: ${words}`;
    })
    .join('; ');
  return { ok: false, message: toStorableText(message, MAX_ERROR_LENGTH) };
}

function refused(error: unknown): Checked {
  const message = error instanceof Error ? error.message : 'the input schema threw';
  return { ok: false, message: toStorableText(String(message), MAX_ERROR_LENGTH) };
}

/** Fields of an object schema if its library exposes them (zod: `shape`, valibot: `entries`); null otherwise. */
export function fieldsOf(schema: InputSchema | undefined): InputField[] | null {
  const schemas = fieldSchemas(schema);
  return schemas?.map(([name, field]) => ({ name, required: isRequired(field) })) ?? null;
}

function fieldSchemas(schema: InputSchema | undefined): [name: string, schema: unknown][] | null {
  const { shape, entries } = (schema ?? {}) as { shape?: unknown; entries?: unknown };
  const fields = shape ?? entries;
  return fields === null || typeof fields !== 'object' ? null : Object.entries(fields);
}

/** Share of the values that a field accepts by itself; null without values, or if its schema cannot be asked. */
export async function shareThatFits(
  schema: InputSchema | undefined,
  field: string,
  values: readonly unknown[],
): Promise<number | null> {
  const found = fieldSchemas(schema)?.find(([name]) => name === field)?.[1] as InputSchema | undefined;
  if (found === undefined || values.length === 0) return null;
  try {
    let fitting = 0;
    for (const value of values) {
      const { issues } = await found['~standard'].validate(value);
      if (issues === undefined) fitting += 1;
    }
    return fitting / values.length;
  } catch {
    return null;
  }
}

function isRequired(field: unknown): boolean {
  try {
    const checked = (field as InputSchema)['~standard'].validate(undefined);
    return !(checked instanceof Promise) && checked.issues !== undefined;
  } catch {
    return false;
  }
}
