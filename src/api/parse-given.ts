// What a request holds, checked by the schema of its route.
import type { z } from 'zod';
import { RowmillError } from '../core/rowmill-error.ts';
import { InvalidRequestError } from './answer-error.ts';

export function parseGiven<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
  where: 'params' | 'query' | 'body',
): z.output<Schema> {
  const parsed = checked(schema, given, where);
  if (!parsed.success) throw new InvalidRequestError(where, parsed.error, given);
  return parsed.data;
}

/** A schema goes as deep as what it is given, and the stack ends before that does. */
function checked<Schema extends z.ZodType>(schema: Schema, given: unknown, where: string) {
  try {
    return schema.safeParse(given);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RowmillError('REQUEST_INVALID', `expected the ${where} not to be nested that deep`);
  }
}
