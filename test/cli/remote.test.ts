// Commands through a server: their requests, output and exit codes. The test server checks every request and response
// against the contract.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jobEvent } from '../../src/contract/events.ts';
import type { JobState } from '../../src/core/jobs/job-state.ts';
import { ITEM_STATUSES } from '../../src/core/items/outcome.ts';
import { beginEvents, Refusal, startContractServer } from '../client/contract-server.ts';
import {
  AT,
  exampleErrorGroup,
  exampleItem,
  exampleJob,
  exampleListedJob,
  JOB_ID,
} from '../client/example-answers.ts';
import { runCommand, startCommand } from '../support/run-command.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-remote-'));
  writeFileSync(join(folder, 'rows.csv'), 'n\n1\n2\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function at(url: string, environment: Record<string, string> = {}) {
  const where = {
    folder,
    environment: { ROWMILL_API: url, XDG_CONFIG_HOME: join(folder, 'nobody'), ...environment },
  };
  return {
    where,
    run: (...args: string[]) => runCommand(where, args),
    json: async (...args: string[]) => JSON.parse((await runCommand(where, [...args, '--json'])).stdout),
  };
}

const shortId = JOB_ID.slice(0, 6);
const foundId = (jobId = JOB_ID) => ({ jobId, name: 'rows.csv', pipeline: 'echo', createdAt: AT });
const foundJob = {
  listJobs: () => ({ items: [exampleListedJob()], next: null }),
  findJobs: () => ({ items: [foundId()] }),
  getJob: () => exampleJob(),
  listErrors: () => ({
    items: [exampleErrorGroup()],
    next: null,
    total: 1,
    matching: { ERROR: 2, NOT_FOUND: 0 },
    all: { ERROR: 2, NOT_FOUND: 0 },
  }),
};
const COUNTS = { PENDING: 0, PROCESSING: 0, DONE: 9, ERROR: 0, NOT_FOUND: 0, SKIPPED: 0, CANCELLED: 0 };

describe('lists', () => {
  test('prints jobs, rows, errors and workers as tables, or as JSON', async () => {
    const server = await startContractServer({
      ...foundJob,
      listItems: () => ({
        items: [
          exampleItem(4),
          exampleItem(5, {
            status: 'ERROR',
            result: null,
            errorClass: 'permanent',
            error: 'no\u001b[2Jsuch n',
          }),
        ],
        next: null,
        looked: 6,
      }),
      listWorkers: () => ({
        items: [
          {
            workerId: 'w-1',
            name: 'box',
            version: '0.1.0',
            pipelines: ['echo'],
            startedAt: AT,
            heartbeatAt: AT,
            alive: true,
            leasedItems: 3,
            pools: [],
            pressure: null,
            memoryBytes: null,
          },
        ],
      }),
    });
    const { run, json } = at(server.url, { ROWMILL_API_KEY: 'rmk_k_s' });
    const [jobs, items, errors, workers, listed] = await Promise.all([
      run('jobs', '--state', 'running,paused', '--pipeline', 'echo', '--limit', '5'),
      run('items', shortId, '--status', 'done,error', '--phase', 'only', '--limit', '2'),
      run('errors', shortId),
      run('workers'),
      json('jobs'),
    ]);
    expect(jobs.stdout).toMatch(/^Job +State +Pipeline +Name +Owner +Rows +Finished +Failed +Created$/m);
    expect(jobs.stdout).toMatch(
      new RegExp(`^${JOB_ID.slice(0, 8)} +RUNNING +echo +rows.csv +alice +10 +4 +1 +2026-01-02 03:04$`, 'm'),
    );
    expect(items.stdout).toMatch(/^ +5 +DONE +1 +n=4 +n=4$|^5 +DONE +1 +n=4 +n=4$/m);
    expect(items.stdout).toMatch(/6 +ERROR +1 +n=5 +permanent: no/);
    expect(items.stdout).not.toContain('\u001b');
    expect(items.stderr).toContain('First 2 rows.');
    expect(errors.stdout, errors.stderr).toMatch(
      /2 +failed +100 % +5 +only +.* operator +Retry +8 +transient: timed out/,
    );
    expect(workers.stdout).toMatch(/w-1 +box +0\.1\.0 +alive +echo/);
    expect(listed).toMatchObject([{ jobId: JOB_ID, counts: { DONE: 3 } }]);
    const asked = (name: string) =>
      server.asked.filter((each) => each.name === name).map((each) => each.query);
    expect(asked('listJobs')).toContainEqual({
      states: ['RUNNING', 'PAUSED'],
      pipeline: 'echo',
      limit: 5,
    });
    expect(asked('findJobs')).toContainEqual({ prefix: shortId, limit: 11 });
    expect(asked('listItems')).toEqual([{ statuses: ['DONE', 'ERROR'], phase: 0, limit: 2 }]);
    expect(server.asked.every((each) => each.headers.authorization === 'Bearer rmk_k_s')).toBe(true);
  });

  test('status shows the errors and the summary of a job', async () => {
    const server = await startContractServer({
      ...foundJob,
      getSummary: () => new Refusal(404, 'SUMMARY_NOT_FOUND'),
    });
    const { run, json } = at(server.url);
    const { stdout } = await run('status', JOB_ID);
    expect(stdout).toContain(
      `${JOB_ID}  RUNNING     echo  rows.csv  10 rows: done 3, failed 1, running 1, queued on a worker 1, waiting for a worker 4`,
    );
    expect(stdout).toContain('5 × only: timed out after 30 ms');
    expect(await json('status', shortId)).toMatchObject({
      jobId: JOB_ID,
      errors: [{ rows: 2 }],
      summary: null,
    });
  });

  test('finds a job by the first characters of its id', async () => {
    const ids = Array.from({ length: 11 }, (_, n) => JOB_ID.replace('1111', String(2000 + n)));
    const items = { '018f2f6e-2': ids.slice(0, 2), '018f2f6e': ids };
    const server = await startContractServer({
      ...foundJob,
      findJobs: ({ query }) => ({
        items: (items[String(query.prefix) as keyof typeof items] ?? []).map((jobId) => foundId(jobId)),
      }),
    });
    const { run } = at(server.url);
    const [several, many, none, wrong] = await Promise.all([
      run('jobs', 'errors', '018f2f6e-2'),
      run('jobs', 'errors', '018f2f6e'),
      run('jobs', 'errors', 'abc'),
      run('jobs', 'errors', 'what?'),
    ]);
    expect(several.stderr).toContain(
      'more than one job starts with 018f2f6e-2: 018f2f6e-2000 (echo, rows.csv), 018f2f6e-2001 (echo, rows.csv) [JOB_NOT_FOUND]',
    );
    expect(many.stderr).toContain('018f2f6e-2009 (echo, rows.csv), and more [JOB_NOT_FOUND]');
    expect(none.stderr).toContain('there is no job abc [JOB_NOT_FOUND]');
    expect(wrong.stderr).toContain('"what?" is not the id of a job');
    expect([several.code, many.code, none.code, wrong.code]).toEqual([1, 1, 1, 1]);
  });
});

describe('control', () => {
  test('pause, resume with a budget, reprocess and resources send requests of the contract', async () => {
    const server = await startContractServer({
      ...foundJob,
      pauseJob: () => ({ changed: false, state: 'PAUSED' }),
      changeJob: () => exampleJob(),
      resumeJob: () => ({ changed: true, state: 'RUNNING', released: 1200 }),
      reprocessJob: () => ({ generation: 2, selected: 3, leftOut: { permanent: 1, exhausted: 0 } }),
      changeResource: () => ({ override: { ratePerSecond: 5 } }),
      listResources: () => ({ items: [] }),
    });
    const { run, json } = at(server.url);
    const [paused, resumed, again, whole, resource, refused] = await Promise.all([
      json('pause', JOB_ID),
      run('resume', JOB_ID, '--budget', '5'),
      run('reprocess', JOB_ID, '--rows', '3-4,10', '--include-permanent'),
      run('reprocess', JOB_ID, '--all', '--reset-attempts'),
      run('resources', 'set', 'api', '--rate', '5'),
      run('reprocess', JOB_ID, '--max-attempts', '3'),
    ]);
    expect(paused).toEqual({ jobId: JOB_ID, action: 'pause', state: 'PAUSED' });
    expect(resumed.stdout).toBe(`Job ${JOB_ID} is resumed with 1,200 rows that were on hold (RUNNING)\n`);
    expect(again.stdout).toContain('run 2: 3 rows waiting to rerun');
    expect(again.stdout).toContain('Left out: 1 row with a permanent failure');
    expect(whole.code).toBe(0);
    expect(resource.stdout).toBe('Resource api: 5/s\n');
    expect(refused.stderr).toContain('--max-attempts is not available over a server');
    const bodies = (name: string) =>
      server.asked.filter((each) => each.name === name).map((each) => each.body);
    expect(bodies('changeJob')).toEqual([{ budget: { max: 5 } }]);
    expect(bodies('reprocessJob')).toHaveLength(2);
    expect(bodies('reprocessJob')).toContainEqual({
      scope: 'items',
      itemIds: [2, 3, 9],
      includePermanent: true,
    });
    // --all names every status, because done rows are rerun and paid for again only on request.
    const statuses = [...ITEM_STATUSES];
    expect(bodies('reprocessJob')).toContainEqual({ scope: 'filter', statuses, resetAttempts: true });
    expect(bodies('changeResource')).toEqual([{ ratePerSecond: 5 }]);
  });

  test('cancel waits until the open rows are cancelled', async () => {
    let state: JobState = 'CANCELLING';
    const server = await startContractServer({
      getJob: () => exampleJob({ state, counts: { ...COUNTS, CANCELLED: 1 } }),
      cancelJob: () => ({ changed: true, state: 'CANCELLING' }),
      streamJobEvents: ({ reply }) => {
        beginEvents(reply);
        state = 'CANCELLED';
        const event = {
          position: 1,
          kind: 'job.finished',
          jobId: JOB_ID,
          ownerId: 'a',
          at: AT,
          generation: 1,
        };
        reply.write(
          `id: 1\nevent: job.finished\ndata: ${JSON.stringify(jobEvent.parse({ ...event, state, detail: {} }))}\n\n`,
        );
      },
    });
    const { stdout } = await at(server.url).run('cancel', JOB_ID);
    expect(stdout).toBe(`Job ${JOB_ID} is cancelled: 1 row had no result (CANCELLED)\n`);
  });

  test('an export gets its name only when it is complete; --unsuccessful downloads the file that the job wrote', async () => {
    const file = {
      fileId: 'f-2',
      kind: 'output',
      name: 'unsuccessful.csv',
      downloadName: 'products-unsuccessful.csv',
      bytes: 4,
      sha256: null,
      generation: 1,
      state: 'READY',
      error: null,
      rows: 1,
      createdAt: AT,
      expiresAt: null,
    };
    const server = await startContractServer({
      ...foundJob,
      exportJob: ({ query, reply }) => {
        reply.writeHead(200, { 'content-type': 'text/csv', 'content-length': 6 });
        reply.write('n\n1\n');
        if (query.search === 'cut') reply.destroy();
        else reply.end('2\n');
      },
      listFiles: () => ({ items: [{ ...file, fileId: 'f-1', name: 'results.csv' }, file] }),
      downloadFile: ({ params, reply }) => {
        reply.writeHead(200, { 'content-type': 'text/csv' });
        reply.end(`${params.fileId}\n`);
      },
    });
    const { run } = at(server.url);
    const [whole, cut, failed] = await Promise.all([
      run('export', JOB_ID, '--out', 'all.jsonl', '--status', 'DONE', '--raw'),
      run('export', JOB_ID, '--out', 'cut.csv', '--search', 'cut'),
      run('export', JOB_ID, '--out', 'unsuccessful.csv', '--unsuccessful'),
    ]);
    expect(whole).toMatchObject({ code: 0, stdout: 'File written to all.jsonl\n' });
    expect(readFileSync(join(folder, 'all.jsonl'), 'utf8')).toBe('n\n1\n2\n');
    const exports = server.asked.filter((each) => each.name === 'exportJob').map((each) => each.query);
    expect(exports).toContainEqual({
      kind: 'results',
      format: 'jsonl',
      statuses: ['DONE'],
      raw: true,
    });
    expect(cut.code).toBe(1);
    expect(() => readFileSync(join(folder, 'cut.csv'))).toThrow('ENOENT');
    expect(failed).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(folder, 'unsuccessful.csv'), 'utf8')).toBe('f-2\n');
  });
});

describe('submit and watch', () => {
  const stream = (kind: 'job.finished' | 'job.failed', state: JobState) => ({
    streamJobEvents: ({ reply }: { reply: import('node:http').ServerResponse }) => {
      beginEvents(reply);
      const event = {
        position: 1,
        kind,
        jobId: JOB_ID,
        ownerId: 'a',
        at: AT,
        generation: 1,
        state,
        detail: {},
      };
      reply.write(`id: 1\nevent: ${kind}\ndata: ${JSON.stringify(jobEvent.parse(event))}\n\n`);
    },
  });
  /** A job that finishes when its events are requested. */
  const ending = (kind: 'job.finished' | 'job.failed', last: Parameters<typeof exampleJob>[0]) => {
    let isOver = false;
    const { streamJobEvents } = stream(kind, last!.state!);
    return {
      ...foundJob,
      getJob: () => exampleJob(isOver ? last : {}),
      streamJobEvents: (asked: { reply: import('node:http').ServerResponse }) => {
        streamJobEvents(asked);
        isOver = true;
      },
    };
  };

  test('submit sends a file with its options and prints the id of the job', async () => {
    const server = await startContractServer({ createJob: () => ({ jobId: JOB_ID, created: false }) });
    const { run } = at(server.url);
    const sent = await run(
      'submit',
      'rows.csv',
      ...['--pipeline', 'echo', '--name', 'May', '--params', '{"a":1}', '--trial', '5', '--budget', '3'],
      ...[
        '--delimiter',
        ';',
        '--map',
        'n=N',
        '--key',
        'n,m',
        '--outputs',
        'csv,xlsx',
        '--idempotency-key',
        'k1',
      ],
    );
    expect(sent).toMatchObject({ code: 0, stdout: `${JOB_ID}\n` });
    expect(sent.stderr).toContain('This file was submitted before');
    const [{ headers, raw }] = server.asked as [(typeof server.asked)[0]];
    expect(headers['idempotency-key']).toBe('k1');
    const form = await new Response(new Uint8Array(raw), {
      headers: { 'content-type': headers['content-type']! },
    }).formData();
    expect(JSON.parse(form.get('job') as string)).toEqual({
      pipeline: 'echo',
      name: 'May',
      params: { a: 1 },
      trial: 5,
      budget: { max: 3, perItem: null },
      format: { delimiter: ';' },
      mapping: { n: 'N' },
      key: ['n', 'm'],
      outputs: ['csv', 'xlsx'],
    });
    expect(await (form.get('file') as File).text()).toBe('n\n1\n2\n');
    const missing = await run('submit', 'nothing.csv', '--pipeline', 'echo');
    expect(missing.stderr).toContain('there is no file nothing.csv');
    expect((await run('submit', 'rows.csv', '--pipeline', 'echo', '--params', '[]')).code).toBe(2);
    expect((await run('submit', 'rows.csv')).code).toBe(2);
  });

  test.each([
    ['no failed rows', 'job.finished', { state: 'DONE', counts: COUNTS }, 0],
    ['failed rows', 'job.finished', { state: 'DONE', counts: { ...COUNTS, DONE: 8, ERROR: 1 } }, 3],
    ['a cancellation', 'job.finished', { state: 'CANCELLED', counts: { ...COUNTS, CANCELLED: 1 } }, 4],
    ['a failure of the job', 'job.failed', { state: 'FAILED', lastError: 'the file is gone' }, 1],
  ] as const)('a job that finishes with %s sets the exit code', async (_, kind, last, code) => {
    const server = await startContractServer({
      ...ending(kind, last),
      createJob: () => ({ jobId: JOB_ID, created: true }),
    });
    const followed = await at(server.url).run('submit', 'rows.csv', '--pipeline', 'echo', '--follow');
    expect(followed.stderr).toContain(`Job ${JOB_ID} on server ${server.url}`);
    expect(followed.stdout, followed.stderr).toContain(last.state);
    expect(followed.code).toBe(code);
  });

  test('Ctrl-C leaves the job running and prints that', async () => {
    let command: ReturnType<typeof startCommand> | null = null;
    const server = await startContractServer({
      ...foundJob,
      streamJobEvents: ({ reply }) => {
        beginEvents(reply);
        command!.child.kill('SIGINT');
      },
    });
    command = startCommand(at(server.url).where, ['watch', shortId]);
    const { code, stderr } = await command.ended;
    expect(code).toBe(130);
    expect(stderr).toContain(`Job ${JOB_ID} keeps running. Watch it with: rowmill jobs watch ${JOB_ID}`);
    expect(server.asked.map((each) => each.name)).not.toContain('cancelJob');
  });

  test('watch exits when the job waits for a resume, and prints a JSON line per change', async () => {
    const paused = await startContractServer({
      ...foundJob,
      getJob: () => exampleJob({ state: 'PAUSED', pausedBecause: 'budget of 4 reached', counts: COUNTS }),
      streamJobEvents: ({ reply }) => {
        beginEvents(reply);
      },
    });
    const waits = await at(paused.url).run('watch', JOB_ID);
    expect(waits.code).toBe(4);
    expect(waits.stderr).toContain(`Job ${JOB_ID} is paused: budget of 4 reached; `);
    expect(waits.stderr).toContain(`  rowmill jobs resume ${JOB_ID}\n`);
    const server = await startContractServer(ending('job.finished', { state: 'DONE', counts: COUNTS }));
    const { stdout, code } = await at(server.url).run('watch', JOB_ID, '--json');
    expect(code).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(JSON.parse(lines[0]!)).toMatchObject({ state: 'RUNNING' });
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ state: 'DONE', counts: { DONE: 9 } });
  });

  test('watch waits for a server that is temporarily unavailable', async () => {
    let asked = 0;
    let streams = 0;
    let isOver = false;
    const server = await startContractServer({
      ...foundJob,
      getJob: () => {
        asked += 1;
        if (asked > 2 && asked < 9) return new Refusal(503, 'DATABASE_UNREACHABLE', { 'retry-after': '0' });
        return exampleJob(isOver ? { state: 'DONE', counts: COUNTS } : {});
      },
      streamJobEvents: (answered) => {
        streams += 1;
        if (streams === 2) return new Refusal(503, 'DATABASE_UNREACHABLE', { 'retry-after': '0' });
        if (streams === 1) {
          beginEvents(answered.reply);
          answered.reply.write(': hello\n\n', () => answered.reply.destroy());
          return undefined;
        }
        isOver = true;
        return stream('job.finished', 'DONE').streamJobEvents(answered);
      },
    });
    const { code, stdout } = await at(server.url).run('watch', JOB_ID);
    expect(stdout).toContain('DONE');
    expect(code).toBe(0);
    expect(streams).toBeGreaterThan(2);
  });

  test('submit refuses a folder', async () => {
    const server = await startContractServer(foundJob);
    const { code, stderr } = await at(server.url).run('submit', '.', '--pipeline', 'echo');
    expect(stderr).toContain('error: expected a file, . is a folder, a device or a pipe [FILE_INVALID]');
    expect(code).toBe(1);
  });

  test('watch of a file suggests rowmill sources watch', async () => {
    const { code, stderr } = await at('http://127.0.0.1:9').run('watch', 'rows.csv');
    expect(code).toBe(1);
    expect(stderr).toContain('rowmill sources watch rows.csv');
  });
});

describe('where a command goes', () => {
  test('an error names the server or database that was used, and why it was chosen', async () => {
    const server = await startContractServer({ listJobs: () => new Refusal(401, 'UNAUTHENTICATED') });
    const database = 'postgres://nobody@127.0.0.1:1/none';
    const { run, json } = at(server.url);
    const [refused, asJson, overridden, flag, both] = await Promise.all([
      run('jobs'),
      json('jobs'),
      at(server.url, { DATABASE_URL: database, DATABASE_START_WAIT_MS: '0' }).run('jobs'),
      at('http://127.0.0.1:9', { DATABASE_URL: database }).run('jobs', '--api', server.url),
      run('jobs', '--api', server.url, '--database-url', database),
    ]);
    expect(refused.code).toBe(1);
    // The page is named by its path from the working directory.
    expect(refused.stderr.replace(/See .*(?=docs\/)/, 'See ')).toBe(
      `error: refused: UNAUTHENTICATED [UNAUTHENTICATED]\n  Sign in with \`rowmill login\`, or set ROWMILL_API_KEY.\n  See docs/errors.md#unauthenticated\n  Target: server ${server.url} (from ROWMILL_API), request req-1\n`,
    );
    expect(asJson).toEqual({
      ok: false,
      error: {
        code: 'UNAUTHENTICATED',
        message: 'refused: UNAUTHENTICATED',
        hint: 'Sign in with `rowmill login`, or set ROWMILL_API_KEY.',
        docs: 'docs/errors.md#unauthenticated',
        asked: `server ${server.url} (from ROWMILL_API)`,
        requestId: 'req-1',
      },
    });
    expect(overridden.stderr).toContain('cannot connect to PostgreSQL');
    expect(overridden.stderr).toContain('Target: the database (from DATABASE_URL)');
    expect(flag.stderr).toContain(`Target: server ${server.url} (from --api)`);
    expect(both.stderr).toContain('expected --api or --database-url, got both');
  });

  test('ROWMILL_API_KEY is not sent to another server', async () => {
    const server = await startContractServer(foundJob);
    const { code } = await at('http://127.0.0.1:9', { ROWMILL_API_KEY: 'rmk_k_s' }).run(
      'jobs',
      '--api',
      server.url,
    );
    expect(code).toBe(0);
    expect(server.asked[0]!.headers.authorization).toBeUndefined();
  });

  test('keys need a server', async () => {
    const nowhere = {
      folder,
      environment: { XDG_CONFIG_HOME: join(folder, 'nobody') },
    };
    const { code, stderr } = await runCommand(nowhere, ['keys']);
    expect(code).toBe(1);
    expect(stderr).toContain('only a server has keys, and this command would use the database');
  });
});
