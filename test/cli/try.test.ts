// One row on the command line: tried from an argument, a file and a job, as a fixture, and promoted to a run.

import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RowTrace } from '../../src/cli/try/row-trace.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { LIBRARY } from '../support/built-program.ts';
import { runCommand, startCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-try-'));
  writeFileSync(
    join(folder, 'prices.ts'),
    `import { definePipeline, httpError, notFound, skip } from '${LIBRARY}';
     import { existsSync, writeFileSync } from 'node:fs';
     import { z } from '${fileURLToPath(new URL('../../node_modules/zod/index.js', import.meta.url))}';

     // A module may keep a connection open: the command has to exit all the same.
     if (process.argv.includes('try')) setInterval(() => {}, 1000);

     let refused = 0;
     function readPrice(sku: string): number {
       if (sku === 'bad' && !existsSync('fixed')) throw new Error('cannot read the price', { cause: new TypeError('no tag') });
       return sku.length;
     }

     export const prices = definePipeline({
       name: 'prices',
       input: z.object({ sku: z.string().min(1), title: z.string().optional() }),
       params: z.object({ country: z.string().default('DE').transform((text) => text.length) }),
       phases: [
         {
           name: 'match',
           cost: 0.5,
           run: (row, context) => {
             console.log('printed by the handler');
             context.log.info({ sku: row.sku }, 'looking up');
             context.emit('child', { sku: 'child' });
             if (row.sku === 'skip') return skip('not sold');
             if (row.sku === 'gone') return notFound();
             if (row.sku === 'crash') { setTimeout(() => { throw new RangeError('nobody caught this') }, 1); return new Promise(() => {}); }
             if (row.sku === 'exit') process.exit(0);
             if (row.sku === 'hang') { writeFileSync('hanging', ''); return new Promise(() => {}); }
             return { id: row.sku + '!', letters: context.params.country };
           },
         },
         {
           name: 'price',
           retry: { overloaded: { baseMs: 1, capMs: 2 } },
           run: (row, context) => {
             if (row.sku === 'busy' && refused++ < 2) throw httpError(new Response('', { status: 503 }));
             return { price: readPrice(row.sku), of: context.previous.id };
           },
         },
       ],
     });
     export const spinning = definePipeline({
       name: 'spinning',
       phases: [{ name: 'turn', thread: true, run: () => { throw new RangeError('too dizzy'); } }],
     });
     export const shelf = definePipeline({
       name: 'shelf',
       result: 'merge',
       kinds: { part: z.object({ part: z.string() }) },
       phases: [
         { name: 'list', run: (row, { emit }) => { emit({ kind: 'part', key: 'part', input: { part: 'leg' } }); return {}; } },
         { name: 'match', kind: 'part', run: ({ part }) => ({ id: part + '!' }) },
         { name: 'price', kind: 'part', run: () => ({ price: 5 }) },
         { name: 'total', kind: 'part', withOutputs: true, run: (_, { outputs }) => ({ total: outputs.match.id + outputs.price.price }) },
       ],
     });`,
  );
  writeFileSync(
    join(folder, 'rows.csv'),
    'sku;title\nA-1;lamp\n"bro;ken"x;y;z;1\nbad;cup\nskip;pen\n;nothing\n',
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rowmill = (...args: string[]) => runCommand({ folder }, args);
const onDatabase = (...args: string[]) => runCommand({ folder, databaseUrl: database.url }, args);
const PRICES = 'prices.ts#prices';

async function traceOf(
  ...args: string[]
): Promise<RowTrace & { code: number | null; input: unknown; origin: unknown }> {
  const { stdout, code } = await rowmill('try', PRICES, ...args, '--json');
  return { ...(JSON.parse(stdout) as RowTrace & { input: unknown; origin: unknown }), code };
}

/** The rows of every table, as checksums. */
async function contents(): Promise<Record<string, string>> {
  const tables = await database.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  const sums = tables.map(async ({ name }) => {
    const text = `select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) as sum from "${name}" t`;
    return [name, (await database.query<{ sum: string }>(text))[0]!.sum];
  });
  return Object.fromEntries(await Promise.all(sums)) as Record<string, string>;
}

function whenCreated(where: string, wanted: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(where, (_, name) => {
      if (name !== wanted) return;
      watcher.close();
      resolve();
    });
  });
}

async function importRows(): Promise<string> {
  const { stdout } = await onDatabase('run', PRICES, 'rows.csv', '--params', '{"country":"Chad"}', '--again');
  const jobs = JSON.parse((await onDatabase('jobs', '--json')).stdout) as { jobId: string }[];
  expect(stdout).not.toBe('');
  return jobs[0]!.jobId;
}

let imported: Promise<string> | undefined;
/** One job for the tests that change nothing. */
function importedJob(): Promise<string> {
  imported ??= importRows();
  return imported;
}

describe('a row of the command line', () => {
  test('is shown with its calls, logs, cost and result', async () => {
    const { stdout, code } = await rowmill('try', PRICES, '{"sku":"A-1"}');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /match, attempt 1\nprinted by the handler\n.* info {3}looking up \{"sku":"A-1"\}\n/,
    );
    expect(stdout).toContain('cost 0.5');
    expect(stdout).toContain('emitted 1 (a try does not run emitted rows)');
    expect(stdout).toMatch(/price, attempt 1\n {2}done in \d+ ms\n {2}\{\n {4}"price": 3,\n {4}"of": "A-1!"/);
    expect(stdout).toMatch(/DONE in phase price, 2 calls, .*, cost 0.5\n$/);
    expect(existsSync(join(folder, '.rowmill'))).toBe(false);
  });

  test('that fails is explained by class, message, cause, lines of user code and the decision, with exit code 3', async () => {
    const { stdout, code } = await rowmill('try', PRICES, '{"sku":"bad"}');
    expect(code).toBe(3);
    expect(stdout).toContain('permanent: cannot read the price: no tag\n    at readPrice (prices.ts:10)\n');
    expect(stdout).toContain('    caused by TypeError: no tag\n');
    expect(stdout).not.toContain(dist);
    expect(stdout).toContain('Rowmill does not retry permanent errors. The row gets the status ERROR.');
  });

  test('is retried after the waits of a worker; --once stops before the first', async () => {
    const trace = await traceOf('{"sku":"busy"}');
    expect(trace.calls.map(({ phase, attempt, outcome }) => [phase, attempt, outcome])).toEqual([
      ['match', 1, 'advanced'],
      ['price', 1, 'retry'],
      ['price', 2, 'retry'],
      ['price', 3, 'done'],
    ]);
    expect(trace).toMatchObject({ code: 0, status: 'DONE', result: { price: 4 } });
    const once = await rowmill('try', PRICES, '{"sku":"busy"}', '--once');
    expect(once.stdout).toMatch(/Rowmill would retry in \d+ ms. The try ends here/);
    expect(once.stdout).toContain('RETRYING in phase price, 2 calls');
    expect(once.code).toBe(3);
  });

  test.each([
    ['skip', { code: 0, status: 'SKIPPED', result: { reason: 'not sold' } }],
    ['gone', { code: 3, status: 'RETRYING', errorClass: 'not_found' }],
    ['', { code: 3, status: 'ERROR', errorClass: 'invalid' }],
    ['crash', { code: 3, status: 'ERROR', errorClass: 'crashed', error: 'nobody caught this' }],
  ])('with sku %j ends as the worker would end it', async (sku, expected) => {
    expect(await traceOf(JSON.stringify({ sku }), '--once')).toMatchObject(expected);
  });

  test('whose handler ends the process gets a sentence and exit code 3', async () => {
    const { stderr, code } = await rowmill('try', PRICES, '{"sku":"exit"}');
    expect(stderr).toContain('The handler ended the process with code 0.');
    expect(code).toBe(3);
  });

  test('is run in a thread if its phase is, and its error keeps the stack', async () => {
    const { stdout, code } = await rowmill('try', 'prices.ts#spinning', '{}');
    expect(stdout).toMatch(/permanent: too dizzy\n {4}RangeError\n {4}at .*prices\.ts:\d+\)/);
    expect(code).toBe(3);
  });

  test.each([
    [['{sku}'], 'the row is not valid JSON'],
    [['[{"sku":"A-1"}]'], 'expected one row as a JSON object, got a list'],
    [[], 'expected a row to try'],
    [['none.csv'], 'there is no file none.csv'],
    [['rows.csv', '--row', '9'], 'rows.csv has no row 9: it has 4 rows, and 1 that cannot be read'],
    [['{}', '--row', '2'], 'expected --row with a file or with --from'],
    [['{}', '--phase', 'pay'], 'pipeline prices has no phase pay; it has match, price'],
    [['{}', '--phase', 'price'], 'phase price needs the output of phase match'],
    [['{}', '--previous', '1'], 'expected --phase with --previous'],
    [['{}', '--phase', 'price', '--previous', '{'], '--previous is not valid JSON'],
    [['{}', '--params', '{"country":1}'], 'invalid params for pipeline prices'],
    [['{}', '--from', '0199'], 'expected a row or --from, got both'],
    [['--from', '0199'], 'expected --row with --from'],
    [['{}', '--fixture', 'prices.ts/row.json'], 'cannot write the fixture prices.ts/row.json'],
  ])('%j is refused with a sentence', async (args, message) => {
    const { stderr, stdout, code } = await rowmill('try', PRICES, ...args);
    expect(stderr).toContain(`error: ${message}`);
    expect([stdout, code]).toEqual(['', 1]);
  });

  test('of a pipeline that does not exist is refused with a sentence', async () => {
    const { stderr, code } = await rowmill('try', 'prices.ts#pries', '{}');
    expect(stderr).toContain('prices.ts has no pipeline pries; it has prices, shelf, spinning');
    expect(code).toBe(1);
  });
});

describe('a row of a job', () => {
  test('has the input that the file gives it, the parameters of its job, and leaves the database unchanged', async () => {
    const jobId = await importedJob();
    const before = await contents();
    for (const row of ['1', '2', '3', '4']) {
      const ofFile = await traceOf('rows.csv', '--row', row);
      const { stdout } = await onDatabase(
        'try',
        PRICES,
        '--from',
        jobId.slice(0, 13),
        '--row',
        row,
        '--json',
      );
      const ofJob = JSON.parse(stdout) as typeof ofFile & { params: unknown };
      expect(ofJob.input).toEqual(ofFile.input);
      expect(ofJob).toMatchObject({ params: { country: 4 }, status: ofFile.status, error: ofFile.error });
    }
    expect((await traceOf('rows.csv', '--row', '2')).origin).toMatchObject({ row: 2, line: 4 });
    expect(await contents()).toEqual(before);
    const { stdout } = await onDatabase('try', PRICES, '--from', jobId, '--row', '2');
    expect(stdout).toContain(
      `row 2 of job ${jobId} (seq 1)\nIn the job: ERROR (permanent: cannot read the price: no tag)`,
    );
    const none = await onDatabase('try', PRICES, '--from', jobId, '--row', '6');
    expect(none.stderr).toContain(`job ${jobId} has no row 6: it has 5 rows`);
  });

  test('starts later with the stored output of the phase before, unless its input was edited since', async () => {
    const jobId = await importRows();
    const later = ['try', PRICES, '--from', jobId, '--row', '2', '--phase', 'price'];
    const { stdout } = await onDatabase(...later);
    expect(stdout).not.toContain('match, attempt');
    expect(stdout).toContain('price, attempt 1\n  failed after');
    const given = await onDatabase(
      ...later,
      '--previous',
      '{"id":"given"}',
      '--json',
      '--fixture',
      'later.json',
    );
    expect(given.code).toBe(3);
    expect(JSON.parse(readFileSync(join(folder, 'later.json'), 'utf8'))).toEqual({
      pipeline: 'prices',
      from: `row 2 of job ${jobId} (seq 1)`,
      row: { sku: 'bad', title: 'cup' },
      params: { country: 4 },
      phase: 'price',
      previous: { id: 'given' },
    });

    writeFileSync(join(folder, 'edits.jsonl'), '{"seq": 1, "input": {"sku": "A-2", "title": "cup"}}\n');
    expect((await onDatabase('reprocess', jobId, '--edits', 'edits.jsonl')).code).toBe(0);
    const edited = await onDatabase(...later);
    expect(edited.stderr).toContain('has no stored output of phase match since its input was edited');
    const whole = await onDatabase(...later.slice(0, 6));
    expect(whole.stdout).toContain(`(seq 1, edited)`);
    expect(whole.stdout).toContain('"sku": "A-2"');
    expect(whole.code).toBe(0);
  });

  test('of another kind starts at its first phase, or later with the outputs of all phases before', async () => {
    const SHELF = 'prices.ts#shelf';
    const run = await onDatabase('run', SHELF, 'rows.csv', '--again');
    expect(run.code, run.stderr).toBe(0);
    const jobs = JSON.parse((await onDatabase('jobs', '--json')).stdout) as { jobId: string }[];
    const part = ['try', SHELF, '--from', jobs[0]!.jobId, '--row', '5', '--json'];
    const tried = await onDatabase(...part);
    expect(tried.code, tried.stdout + tried.stderr).toBe(0);
    const whole = JSON.parse(tried.stdout) as RowTrace;
    expect(whole.calls.map(({ phase }) => phase)).toEqual(['match', 'price', 'total']);
    const result = { id: 'leg!', price: 5, total: 'leg!5' };
    expect(whole).toMatchObject({ status: 'DONE', result });
    const later = [...part, '--phase', 'total', '--fixture', 'part.json'];
    const last = JSON.parse((await onDatabase(...later)).stdout) as RowTrace;
    expect(last.calls.map(({ phase }) => phase)).toEqual(['total']);
    expect(last).toMatchObject({ status: 'DONE', result });
    expect(JSON.parse(readFileSync(join(folder, 'part.json'), 'utf8'))).toMatchObject({
      row: { part: 'leg' },
      phase: 'total',
      outputs: { match: { id: 'leg!' }, price: { price: 5 } },
    });
  });

  test('that is killed while it runs leaves no file, no connection and no change', async () => {
    const jobId = await importRows();
    await database.query(`update items set input = '{"sku":"hang"}' where job_id = $1 and seq = 0`, [jobId]);
    const before = await contents();
    const temporary = join(folder, 'temporary');
    mkdirSync(temporary, { recursive: true });
    const hanging = whenCreated(folder, 'hanging');
    const where = { folder, databaseUrl: database.url, environment: { TMPDIR: temporary } };
    const { child, ended } = startCommand(where, ['try', PRICES, '--from', jobId, '--row', '1']);
    await hanging;
    // The command has closed its connections; the server ends their processes soon after.
    await expect
      .poll(() =>
        database.query(
          `select pid from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
        ),
      )
      .toEqual([]);
    child.kill('SIGKILL');
    await ended;
    expect(readdirSync(temporary).filter((name) => name.startsWith('rowmill'))).toEqual([]);
    expect(await contents()).toEqual(before);
  });
});

describe('a row of a job on the embedded PostgreSQL', () => {
  test('that is killed while it runs leaves no server, no file and no change', async () => {
    const own = mkdtempSync(join(tmpdir(), 'rowmill-try-embedded-'));
    const temporary = join(own, 'temporary');
    mkdirSync(temporary);
    try {
      const where = {
        folder: own,
        environment: { TMPDIR: temporary, HOME: process.env.HOME ?? own },
      };
      const pipeline = `${join(folder, 'prices.ts')}#prices`;
      writeFileSync(join(own, 'rows.jsonl'), '{"sku":"A-1"}\n{"sku":"hang"}\n');
      // Without a worker the rows stay PENDING.
      const submitted = await runCommand(where, ['submit', 'rows.jsonl', '--pipeline', pipeline]);
      const jobId = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/.exec(submitted.stdout)![0];
      const before = await runCommand(where, ['jobs', 'show', jobId, '--json']);
      const hanging = whenCreated(own, 'hanging');
      const args = ['try', pipeline, '--from', jobId, '--row', '2'];
      const { child, ended } = startCommand(where, args);
      await Promise.race([hanging, ended.then(({ stderr }) => expect.unreachable(stderr))]);
      child.kill('SIGKILL');
      await ended;
      expect(
        readdirSync(own, { recursive: true })
          .map(String)
          .filter((name) => name.endsWith('postmaster.pid')),
      ).toEqual([]);
      expect(readdirSync(temporary).filter((name) => name.startsWith('rowmill'))).toEqual([]);
      expect((await runCommand(where, ['jobs', 'show', jobId, '--json'])).stdout).toBe(before.stdout);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  });
});

describe('a fixture', () => {
  const runTest = async (): Promise<{ code: number; stdout: string }> => {
    // As in a user's project: the TypeScript test of node:test that the command printed.
    const run = promisify(execFile)(
      process.execPath,
      ['--import', `${dist}testing/register.js`, '--test', 'test/row-2.test.ts'],
      { cwd: folder, env: bareEnvironment() },
    );
    return run.then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    );
  };

  test('makes a failed row a test, which fails until the handler is fixed', async () => {
    const { stdout, code } = await rowmill(
      'try',
      PRICES,
      'rows.csv',
      '--row',
      '2',
      '--fixture',
      'test/row-2.json',
    );
    expect(code).toBe(3);
    const printed = stdout.slice(stdout.indexOf('  import assert'));
    expect(stdout).toContain('As a test, in test/row-2.test.ts:\n');
    expect(printed).toContain('import { prices as pipeline } from "../prices.ts";');
    // The package is not installed in this folder.
    writeFileSync(
      join(folder, 'test/row-2.test.ts'),
      printed.replace("'rowmill/testing'", `'${dist}testing/index.js'`),
    );
    const broken = await runTest();
    expect(broken.stdout).toContain("+   status: 'ERROR'");
    expect(broken.code).toBe(1);
    writeFileSync(join(folder, 'fixed'), '');
    try {
      expect(await runTest()).toMatchObject({ code: 0 });
    } finally {
      rmSync(join(folder, 'fixed'));
    }
  });

  test('of a row that ends the process is written all the same', async () => {
    await rowmill('try', PRICES, '{"sku":"exit"}', '--fixture', 'exit.json');
    expect(JSON.parse(readFileSync(join(folder, 'exit.json'), 'utf8'))).toEqual({
      pipeline: 'prices',
      from: 'row from the command line',
      row: { sku: 'exit' },
      params: { country: 2 },
    });
  });
});

describe('rowmill rows retry', () => {
  test('only tries the row; with --promote its new outcome is a run of the job', async () => {
    const jobId = await importRows();
    const before = await contents();
    const retry = ['rows', 'retry', jobId, '2', '--pipeline', PRICES];
    writeFileSync(join(folder, 'fixed'), '');
    try {
      const tried = await onDatabase(...retry);
      expect(tried.stdout).toContain('DONE in phase price, 2 calls');
      expect(await contents()).toEqual(before);

      const promoted = await onDatabase(...retry, '--promote');
      expect(promoted.stdout).toContain(`Job ${jobId}, run 2: row 2 (seq 1) runs again\n`);
      expect(promoted.stdout).toContain('Row 2: DONE\n  {\n    "of": "bad!",\n    "price": 3');
      expect(promoted.code).toBe(0);
    } finally {
      rmSync(join(folder, 'fixed'));
    }
    const items = JSON.parse((await onDatabase('items', jobId, '--json')).stdout) as { status: string }[];
    expect(items.map(({ status }) => status).slice(0, 4)).toEqual(['DONE', 'DONE', 'SKIPPED', 'ERROR']);

    const failed = await onDatabase(...retry, '--promote', '--phase', 'match', '--json');
    expect(JSON.parse(failed.stdout.split('\n').find((line) => line.startsWith('{"jobId"'))!)).toMatchObject({
      row: 2,
      seq: 1,
      generation: 3,
      status: 'ERROR',
      errorClass: 'permanent',
    });
    expect(failed.code).toBe(3);
  });

  test('finds the pipeline of the job by rowmill.config.ts', async () => {
    const jobId = await importedJob();
    const configured = join(folder, 'configured');
    mkdirSync(configured, { recursive: true });
    writeFileSync(join(configured, 'rowmill.config.ts'), `export default { pipelines: ['../prices.ts'] };`);
    const where = { folder: configured, databaseUrl: database.url };
    const { stdout, stderr, code } = await runCommand(where, ['rows', 'retry', jobId, '2']);
    expect(stderr).toBe('');
    expect(stdout).toContain('ERROR in phase price, 2 calls');
    expect(code).toBe(3);
  });

  test.each([
    [['1'], 'expected --pipeline, whose handlers to run'],
    [['9', '--promote'], 'has no row 9: it has'],
    [['1', '--promote', '--once'], 'expected --promote without --fixture, --previous and --once'],
    [['1', '--promote', '--pipeline', 'prices.ts#spinning'], 'belongs to pipeline prices, not spinning'],
  ])('%j is refused with a sentence', async (args, message) => {
    const jobId = await importedJob();
    const { stderr, code } = await onDatabase('rows', 'retry', jobId, ...args);
    expect(stderr).toContain(message);
    expect(code).toBe(1);
  });
});
