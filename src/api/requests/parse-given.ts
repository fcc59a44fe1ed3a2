// Checks the parameters, query and body of a request against the schema of its route.
import { z } from 'zod';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { InvalidRequestError } from './answer-error.ts';

export function parseGiven<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
  where: 'params' | 'query' | 'body',
): z.output<Schema> {
  if (where !== 'body' && schema instanceof z.ZodObject) checkNumbers(schema, given, where);
  const parsed = checked(schema, given, where);
  if (!parsed.success) throw new InvalidRequestError(where, parsed.error, given);
  return parsed.data;
}

/** Schemas are checked recursively, so a deeply nested value overflows the stack. */
function checked<Schema extends z.ZodType>(schema: Schema, given: unknown, where: string) {
  try {
    return schema.safeParse(given);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RowmillError('REQUEST_INVALID', `the ${where} is nested too deeply`);
  }
}

/** Whole numbers as written in JSON. */
const DIGITS = /^-?(0|[1-9]\d{0,15})$/;

/** `Number` would accept an empty text as 0, and 0x10, 1e1 and +5. */
function checkNumbers(schema: z.ZodObject, given: unknown, where: 'params' | 'query'): void {
  const issues = Object.entries(schema.shape).flatMap(([name, field]) => {
    const value = (given as Record<string, unknown>)[name];
    const isRight =
      value === undefined || !isNumber(field) || (typeof value === 'string' && DIGITS.test(value));
    const message = 'expected a whole number, written in digits';
    return isRight ? [] : [{ code: 'custom' as const, path: [name], message, input: value }];
  });
  if (issues.length > 0) throw new InvalidRequestError(where, new z.ZodError(issues), given);
}

function isNumber(field: unknown): boolean {
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault || field instanceof z.ZodNullable)
    return isNumber(field.unwrap());
  return field instanceof z.ZodNumber;
}
