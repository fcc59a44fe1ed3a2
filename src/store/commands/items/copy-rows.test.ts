import fc from 'fast-check';
import { expect, it } from 'vitest';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import { toStorableJson, toStorableText } from '../../../core/items/storable-json.ts';
import { newId } from '../../../platform/random.ts';
import { OutcomeLines } from './copy-outcomes.ts';
import { copyItems } from './copy-rows.ts';

const database = useTestDatabase();

// Any code units, often including those that are special to COPY.
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

it('stores any text in a text column unchanged, except what PostgreSQL cannot hold', async () => {
  const context = database.context();
  await fc.assert(
    fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 30 }), async (texts) => {
      const jobId = newId();
      const storable = texts.map((text) => toStorableText(text, 8000));
      const lines = new OutcomeLines({ jobId, generation: 1, phase: 0 });
      for (const [seq, message] of storable.entries())
        lines.attemptError(seq, 1, { class: 'permanent', message });
      await context.db.transaction((tx) => lines.copy(tx));
      const rows = await database.query<{ error: string }>(
        'select error from attempt_errors where job_id = $1 order by seq',
        [jobId],
      );
      expect(rows.map((row) => row.error)).toEqual(storable);
    }),
    { numRuns: 60 },
  );
});

it('stores any JSON in a jsonb column unchanged', async () => {
  const context = database.context();
  await fc.assert(
    fc.asyncProperty(fc.array(anyJson, { minLength: 1, maxLength: 30 }), async (values) => {
      const jobId = newId();
      const texts = values.map((value) => {
        const stored = toStorableJson(value, 1_000_000, 'replace');
        if (!stored.ok) throw new Error(stored.reason);
        return stored.json;
      });
      const items = texts.map((json) => ({ json, key: null, summary: null, repair: null }));
      await context.db.transaction((tx) => copyItems(tx, jobId, 0, items));
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

it('distinguishes null from an empty text and from the text \\N', async () => {
  const context = database.context();
  const jobId = newId();
  const lines = new OutcomeLines({ jobId, generation: 1, phase: 0 });
  for (const [seq, message] of [null, '', '\\N'].entries())
    lines.result(
      seq,
      1,
      'ERROR',
      1.54,
      message === null ? null : { class: 'permanent', message },
      null,
      message,
    );
  await context.db.transaction((tx) => lines.copy(tx));
  const rows = await database.query(
    'select error, signature, result, handler_ms::float8 from results where job_id = $1 order by seq',
    [jobId],
  );
  expect(rows).toEqual(
    [null, '', '\\N'].map((text) => ({ error: text, signature: text, result: null, handler_ms: 1.5 })),
  );
});

it.each([true, false])(
  'writes every column of the three tables of outcomes, with cost %s',
  async (withCost) => {
    const context = database.context();
    const jobId = newId();
    const lines = new OutcomeLines({ jobId, generation: 2, phase: 1 }, withCost);
    const failure = { class: 'timeout', message: 'late' } as const;
    lines.result(0, 3, 'DONE', 7, null, '{"a":"\\\\"}', null, 0.5);
    lines.output(1, '"é"', null);
    lines.attemptError(2, 4, failure, 0.25);
    await context.db.transaction((tx) => lines.copy(tx));
    const rowOf = async (table: string, columns: string) =>
      (await database.query(`select ${columns} from ${table} where job_id = $1`, [jobId]))[0];
    const at = 'seq::int, generation::int, phase::int, cost::float8';
    const place = { generation: 2, phase: 1 };
    expect(await rowOf('results', `${at}, attempt::int, status, result`)).toEqual({
      ...place,
      seq: 0,
      attempt: 3,
      status: 'DONE',
      result: { a: '\\' },
      cost: withCost ? 0.5 : null,
    });
    expect(await rowOf('stage_outputs', `${at}, output_bytes::int, output`)).toEqual({
      ...place,
      seq: 1,
      output_bytes: 4,
      output: 'é',
      cost: null,
    });
    expect(await rowOf('attempt_errors', `${at}, attempt::int, error_class, error`)).toEqual({
      ...place,
      seq: 2,
      attempt: 4,
      error_class: 'timeout',
      error: 'late',
      cost: withCost ? 0.25 : null,
    });
  },
);
