// A row with a value for each required field of a schema, to be edited by the person who tries it.
import { fieldsOfSchema } from '../new-job/schema-form.ts';

export function exampleRow(schema: Parameters<typeof fieldsOfSchema>[0]): Record<string, unknown> {
  return Object.fromEntries(
    fieldsOfSchema(schema)
      .filter(({ required }) => required)
      .map(({ name, kind, choices, min }) => [
        name,
        kind === 'choice'
          ? choices[0]
          : kind === 'boolean'
            ? true
            : kind === 'number' || kind === 'integer'
              ? (min ?? 1)
              : kind === 'json'
                ? null
                : '…',
      ]),
  );
}
