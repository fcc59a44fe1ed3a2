// Child process of counters.ts: runs one measurement. Prints one JSON line.
import { checkCounters } from '../dist/engine/counters/check-counters.js';
import { registerDefinitions } from '../dist/engine/counters/known-counters.js';
import { flushOutcomes } from '../dist/engine/flush/flush-outcomes.js';
import { reprocessJob } from '../dist/engine/reprocess/reprocess-job.js';
import { defineCounter, definePipeline, openRowmill } from '../dist/index.js';
import { contextOf } from '../dist/open-rowmill.js';
import { Database } from '../dist/platform/database.js';
import { changeEntries, copyContributions } from '../dist/store/commands/counters/change-entries.js';
import { claimItems } from '../dist/store/commands/spans/claim-items.js';

const task = JSON.parse(process.argv[2]);
const notes = defineCounter({
  name: 'notes',
  scope: 'project',
  entity: 'document',
  measures: ['denotations', 'blocks', 'relations'],
});
const SCOPES = 20;

/** A fixed seed, so every run draws the same entities. */
let state = 12345;
function draw(below) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return state % below;
}
const keyOf = (n) => ({ scope: `project-${n % SCOPES}`, entity: `PMC${String(n).padStart(8, '0')}` });

const rowmill = await openRowmill({ databaseUrl: task.databaseUrl, settings: { blobStore: task.blobStore } });
const context = contextOf(rowmill);
const db = new Database({
  url: task.databaseUrl,
  maxConnections: 2,
  applicationName: 'bench counters',
  deadlineMs: 600_000,
  keyedAccess: true,
});
await registerDefinitions(db, [notes]);
const [{ counter_id: counterId }] = (
  await db.run({ name: 'id', text: `select counter_id from counters where name = 'notes'` })
).rows;

async function statement(text, values = []) {
  return db.run({ name: '', text }, values);
}

async function newJob(items) {
  const pipeline = definePipeline({ name: 'bench-counters', phases: [{ name: 'only', run: () => null }] });
  const { jobId } = await rowmill.createJob(pipeline, { outputs: [] });
  await rowmill.addItems(
    jobId,
    (function* () {
      for (let n = 0; n < items; n += 1) yield { n };
    })(),
  );
  return jobId;
}

/**
 * Claims and flushes a batch, with a contribution per item if `keyOfSeq` is given. Returns the time of the flush in
 * ms.
 */
async function flushBatch(jobId, batch, keyOfSeq) {
  const claim = await claimItems(db, {
    jobId,
    phase: 0,
    maxItems: batch,
    maxBytes: 1e9,
    workerId: crypto.randomUUID(),
    token: crypto.randomUUID(),
    leaseMs: 3_600_000,
  });
  const { spanId, token, priority, attempt, failures, crashes, generation, phase } = claim;
  const outcomes = claim.items.map(({ seq }) => ({
    seq,
    kind: 'terminal',
    status: 'DONE',
    json: '{"ok":true}',
    failure: null,
    delayMs: 0,
    handlerMs: 1,
    ...(keyOfSeq && {
      counted: [
        {
          counter: 'notes',
          ...keyOfSeq(seq),
          mode: 'add',
          measured: { denotations: 50, blocks: 3, relations: 10 },
        },
      ],
    }),
  }));
  const leases = [{ spanId, token, priority, attempt, failures, crashes, outcomes }];
  const ids = { jobId, workerId: crypto.randomUUID(), flushId: crypto.randomUUID() };
  const startedMs = performance.now();
  await flushOutcomes({ ...context, db }, { ...ids, generation, phase, leases }, false);
  return performance.now() - startedMs;
}

/** Alternates flushes without and with a contribution per item. Returns µs per item. */
async function flushes({ items, entities, batch }) {
  const jobs = { plain: await newJob(items), counting: await newJob(items) };
  const spentMs = { plain: 0, counting: 0 };
  for (let done = 0; done < items; done += batch) {
    spentMs.plain += await flushBatch(jobs.plain, batch);
    spentMs.counting += await flushBatch(jobs.counting, batch, () => keyOf(draw(entities)));
  }
  const exact = await statement(
    `select (select coalesce(sum(measured[1]), 0) from counter_entries)::bigint as entries,
            (select coalesce(sum(measured[1]), 0) from counter_entities)::bigint as entities`,
  );
  const sums = exact.rows[0];
  if (sums.entries !== items * 50 || sums.entities !== items * 50)
    throw new Error(`expected ${items * 50} to be counted, got ${JSON.stringify(sums)}`);
  return { plainUs: (spentMs.plain / items) * 1000, countingUs: (spentMs.counting / items) * 1000 };
}

/** Must equal the formula in the SQL of `endAll`. */
const scattered = (seq, entities) => (seq * 7919) % entities;

/** Finishes a job with SQL, as its flushes would, with a contribution per item if `countsOver` is not 0. */
async function endAll(jobId, items, countsOver) {
  await statement(
    `insert into result_rows (job_id, seq, generation, phase, attempt, status, handler_ms, result)
     select $1, n, 1, 0, 1, 'DONE', 1, '{"ok":true}' from generate_series(0, $2::bigint - 1) n`,
    [jobId, items],
  );
  await statement(
    `insert into ledger (job_id, entry_id, generation, phase, done) values ($1, gen_random_uuid(), 1, 0, $2)`,
    [jobId, items],
  );
  await statement(
    `with gone as (delete from spans where job_id = $1)
     update jobs set state = 'DONE', sealed_at = now(), started_at = now(), finished_at = now() where job_id = $1`,
    [jobId],
  );
  if (countsOver === 0) return;
  await fill(0, countsOver);
  await statement(
    `insert into counter_contributions (job_id, seq, generation, phase, entry_id, epoch, measured)
     select $1, n, 1, 0, e.entry_id, 0, '{50,3,10}' from generate_series(0, $2::bigint - 1) n
     join counter_entries e on e.entity = 'PMC' || lpad((n * 7919 % $3)::text, 8, '0')`,
    [jobId, items, countsOver],
  );
  for (const table of ['counter_entries', 'counter_entities'])
    await statement(`update ${table} set measured = array[50 * $1::bigint, 3 * $1, 10 * $1]`, [
      items / countsOver,
    ]);
}

/**
 * Reruns all items of a job. Returns the reprocess in ms and the flushes in µs per item, without and with
 * contributions.
 */
async function again({ items, entities, batch, rounds }) {
  const jobs = { plain: await newJob(items), counting: await newJob(items) };
  await endAll(jobs.plain, items, 0);
  await endAll(jobs.counting, items, entities);
  await statement('vacuum analyze');
  await statement('checkpoint');
  const reprocessMs = {};
  for (const [kind, jobId] of Object.entries(jobs)) {
    const startedMs = performance.now();
    await reprocessJob({ ...context, db }, jobId, { statuses: 'all' });
    reprocessMs[kind] = performance.now() - startedMs;
  }
  const spentMs = { plain: 0, counting: 0 };
  for (let round = 0; round < rounds; round += 1) {
    spentMs.plain += await flushBatch(jobs.plain, batch);
    spentMs.counting += await flushBatch(jobs.counting, batch, (seq) => keyOf(scattered(seq, entities)));
  }
  const perItem = (ms) => (ms / rounds / batch) * 1000;
  const check = await checkCounters({ ...context, db });
  if (check.drifted.some(({ level }) => level !== 'scopes'))
    throw new Error(`expected no drift, got ${JSON.stringify(check.drifted.slice(0, 3))}`);
  return {
    reprocessPlainMs: reprocessMs.plain,
    reprocessCountingMs: reprocessMs.counting,
    plainUs: perItem(spentMs.plain),
    countingUs: perItem(spentMs.counting),
  };
}

async function fill(from, to) {
  const rows = `select $1::int, 'local', 'project-' || n % ${SCOPES}, 'PMC' || lpad(n::text, 8, '0'), '{1,1,1}'::bigint[], '{1,1,1}'::bigint[]
    from generate_series($2::bigint, $3::bigint - 1) n`;
  await statement(
    `insert into counter_entries (counter_id, owner_id, scope, entity, measured, change) ${rows}`,
    [counterId, from, to],
  );
  await statement(
    `insert into counter_entities (counter_id, owner_id, entity, measured, change)
     select counter_id, owner_id, entity, measured, change from counter_entries where entity >= $1 and entity < $2`,
    [keyOf(from).entity, keyOf(to).entity],
  );
  await statement('vacuum analyze counter_entries');
  await statement('vacuum analyze counter_entities');
  await statement('checkpoint');
}

function drawKeys(rows, entities) {
  const chosen = new Set();
  while (chosen.size < rows) chosen.add(draw(entities));
  return [...chosen];
}

/** All writes of a flush: entries, entities, scope deltas and contributions. */
async function change(jobId, keys, generation) {
  await db.transaction(async (tx) => {
    const measured = [50, 3, 10];
    const changes = keys.map((n) => ({ counterId, ...keyOf(n), replaced: 0, measured }));
    const key = { jobId, generation, phase: 0 };
    const { changed } = await changeEntries(tx, key, changes);
    const stored = changed.map((entry, seq) => ({ ...entry, seq, measured }));
    await copyContributions(tx, key, stored);
  });
}

/** Updates existing rows with one statement per table: with CASE expressions here, with typed arrays below. */
async function updateByCase(keys) {
  const when = (column, value, literal) =>
    `case ${column} ${keys.map((n) => `when ${literal(n)} then ${value}`).join(' ')} end`;
  const entityOf = (n) => `'${keyOf(n).entity}'`;
  const measured = (column, literal) =>
    `array[${[50, 3, 10].map((by, at) => when(column, `measured[${at + 1}] + ${by}`, literal)).join(', ')}]`;
  const list = keys.map(entityOf).join();
  await db.transaction(async (tx) => {
    for (const table of ['counter_entries', 'counter_entities'])
      await tx.run({
        name: '',
        text: `update ${table} set measured = ${measured('entity', entityOf)}, updated_at = now()
               where counter_id = ${counterId} and owner_id = 'local' and entity in (${list})`,
      });
  });
}

async function updateByUnnest(keys) {
  const keyed = keys.map(keyOf);
  const values = [
    keyed.map(({ scope }) => scope),
    keyed.map(({ entity }) => entity),
    ...[50, 3, 10].map((by) => keys.map(() => by)),
  ];
  await db.transaction(async (tx) => {
    for (const [table, scope] of [
      ['counter_entries', 't.scope = w.scope'],
      ['counter_entities', 'w.scope is not null'],
    ])
      await tx.run(
        {
          name: `update-${table}`,
          text: `update ${table} t
                 set measured = array[t.measured[1] + w.a, t.measured[2] + w.b, t.measured[3] + w.c], updated_at = now()
                 from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) as w(scope, entity, a, b, c)
                 where t.counter_id = ${counterId} and t.owner_id = 'local' and ${scope} and t.entity = w.entity`,
        },
        values,
      );
  });
}

/** Changes entries as a flush does: adds missing rows and locks rows in order. */
async function changeAll(jobId, keys) {
  const changes = keys.map((n) => ({ counterId, ...keyOf(n), replaced: 0, measured: [50, 3, 10] }));
  await db.transaction((tx) => changeEntries(tx, { jobId, generation: 1, phase: 0 }, changes));
}

function spread(times) {
  const sorted = times.toSorted((a, b) => a - b);
  return { best: sorted[0], median: sorted[Math.floor(sorted.length / 2)], worst: sorted.at(-1) };
}

/** Alternates the kinds of update. Returns ms per batch. */
async function compareWithCase({ entities, rows, rounds }) {
  await fill(0, entities);
  const jobId = await newJob(1);
  const times = { unnest: [], byCase: [], whole: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const [kind, update] of [
      ['unnest', updateByUnnest],
      ['byCase', updateByCase],
      ['whole', (keys) => changeAll(jobId, keys)],
    ]) {
      const keys = drawKeys(rows, entities);
      const startedMs = performance.now();
      await update(keys);
      times[kind].push(performance.now() - startedMs);
    }
  }
  return {
    unnestMs: spread(times.unnest),
    caseMs: spread(times.byCase),
    wholeMs: spread(times.whole),
  };
}

/** Cost of a batch among few rows, and among `existing` rows, in ms. */
async function compareWithExisting({ entities, existing, batch, rounds }) {
  const jobId = await newJob(1);
  const measure = async (generation) => {
    // Each batch runs twice: the first pass loads the pages into memory.
    const batches = Array.from({ length: rounds }, () => drawKeys(batch, entities));
    for (const [at, keys] of batches.entries()) await change(jobId, keys, generation + at);
    const times = [];
    for (const [at, keys] of batches.entries()) {
      const startedMs = performance.now();
      await change(jobId, keys, generation + rounds + at);
      times.push(performance.now() - startedMs);
    }
    return spread(times);
  };
  await fill(0, entities);
  const fewMs = await measure(1);
  await fill(entities, existing);
  const manyMs = await measure(1 + 2 * rounds);
  return { fewMs, manyMs };
}

const TASKS = { flushes, again, compareWithCase, compareWithExisting };
const result = await TASKS[task.task](task);
console.log(JSON.stringify(result));
await db.close();
await rowmill.close();
