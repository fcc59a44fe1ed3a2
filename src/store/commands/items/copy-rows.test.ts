import fc from 'fast-check';
import { expect, it } from 'vitest';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import { toStorableJson, toStorableText } from '../../../core/items/storable-json.ts';
import { newId } from '../../../platform/random.ts';
import { copyAttemptErrors, copyItems, copyResults, jsonField, NULL_FIELD, textField } from './copy-rows.ts';

const database = useTestDatabase();

// Any code units at all, and among them often what COPY gives a meaning to.
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({
    unit: fc.constantFrom(
      '\\',
      '\t',
      '\n',
      '\r',
      '.',
      'N',
      'n',
      't',
      'x41',
      '\b',
      '\v',
      '😀',
      '\ud83d',
      '\0',
      '"',
    ),
  }),
  fc.constantFrom('\\.', '\\N', '\\', '', '\n\\.\n', '\\\\', '\\x41', '\r\n', '\\\n'),
);
const anyJson = fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 });

it('brings any text into a text column unchanged, apart from what PostgreSQL cannot hold', async () => {
  const context = database.context();
  await fc.assert(
    fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 30 }), async (texts) => {
      const jobId = newId();
      const storable = texts.map((text) => toStorableText(text, 8000));
      const lines = storable.map((text, seq) => `${jobId}\t${seq}\t1\t0\t1\tpermanent\t${textField(text)}\n`);
      await context.db.transaction((tx) => copyAttemptErrors(tx, lines.join('')));
      const rows = await database.query<{ error: string }>(
        'select error from attempt_errors where job_id = $1 order by seq',
        [jobId],
      );
      expect(rows.map((row) => row.error)).toEqual(storable);
    }),
    { numRuns: 60 },
  );
});

it('brings any JSON into a jsonb column unchanged', async () => {
  const context = database.context();
  await fc.assert(
    fc.asyncProperty(fc.array(anyJson, { minLength: 1, maxLength: 30 }), async (values) => {
      const jobId = newId();
      const texts = values.map((value) => {
        const stored = toStorableJson(value, 1_000_000, 'replace');
        if (!stored.ok) throw new Error(stored.reason);
        return stored.json;
      });
      const lines = texts.map(
        (json, seq) => `${jobId}\t${seq}\t${Buffer.byteLength(json)}\t${jsonField(json)}\t\\N\t\\N\t\\N\n`,
      );
      await context.db.transaction((tx) => copyItems(tx, [Buffer.from(lines.join(''))]));
      const rows = await database.query<{ same: boolean }>(
        `select i.input = t.json::jsonb as same
         from unnest($2::text[]) with ordinality as t(json, n) left join items i on i.job_id = $1 and i.seq = t.n - 1`,
        [jobId, texts],
      );
      expect(rows).toEqual(values.map(() => ({ same: true })));
    }),
    { numRuns: 60 },
  );
});

it('tells a null from an empty text and from the text \\N', async () => {
  const context = database.context();
  const jobId = newId();
  const errors = [NULL_FIELD, textField(''), textField('\\N')];
  const lines = errors.map(
    (error, seq) =>
      `${jobId}\t${seq}\t1\t0\t1\tERROR\t1.5\tpermanent\t${error}\t${NULL_FIELD}\t${NULL_FIELD}\n`,
  );
  await context.db.transaction((tx) => copyResults(tx, lines.join('')));
  const rows = await database.query('select error, result from results where job_id = $1 order by seq', [
    jobId,
  ]);
  expect(rows).toEqual([
    { error: null, result: null },
    { error: '', result: null },
    { error: '\\N', result: null },
  ]);
});
