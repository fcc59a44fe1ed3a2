// Requirements for requests on every route of the table: a body, query or header that would be ignored is refused,
// changes nothing, and is answered in the shape of every refusal.
import { connect } from 'node:net';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { apiHintOf } from '../../src/api/requests/refusal-body.ts';
import { errorAnswer, type Route } from '../../src/contract/route.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import { ERROR_REGISTRY } from '../../src/core/errors/error-registry.ts';
import { newId } from '../../src/platform/random.ts';
import { addUser, keyHeaders } from '../support/account-factory.ts';
import { depth } from '../support/depth.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { sendRequest } from '../support/send-request.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const routes = Object.entries(ROUTES) as [RouteName, Route][];

let jobId: string;
beforeAll(async () => {
  jobId = await jobWithItems(database.context(), { items: 3 });
});

/** URL of a route, with existing ids where possible. */
function addressOf({ path }: Route): string {
  const values: Record<string, string> = { jobId, seq: '0' };
  return path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? newId());
}

/** A digest of everything that a request could change. */
async function stateOfAll(): Promise<unknown> {
  const tables = [
    'jobs',
    'spans',
    'results',
    'items',
    'audit',
    'job_events',
    'webhooks',
    'uploads',
    'exports',
  ];
  const counts = tables.map(
    (name) => `(select md5(string_agg(t::text, ';' order by t::text)) from ${name} t)`,
  );
  return database.query(`select ${counts.join(', ')}`);
}

describe('a body', () => {
  const WITHOUT = routes.filter(([, { body, takesBytes }]) => !body && !takesBytes);
  const WITH = routes.filter(([, { body, takesBytes }]) => body || takesBytes);

  test('is refused by every route that accepts none, and nothing is done', async () => {
    const { url } = await startTestApi(database.url);
    const before = await stateOfAll();
    for (const [name, route] of WITHOUT)
      for (const body of ['{"durationMs":500}', '{}', 'null', 'x']) {
        const answer = await sendRequest(url + addressOf(route), { method: route.method, body });
        expect([name, body, answer.status, answer.body?.code]).toEqual([name, body, 400, 'REQUEST_INVALID']);
        errorAnswer.parse(answer.body);
      }
    expect(await stateOfAll()).toEqual(before);
  });

  test.each([
    ['another media type', { 'content-type': 'text/plain' }],
    ['no media type', { 'content-type': '' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['another character set', { 'content-type': 'application/json; charset=utf-16' }],
    ['a false encoding', { 'content-encoding': 'gzip' }],
  ])(
    'with %s is refused with 415 by every route that accepts a body, and nothing is done',
    async (_, headers) => {
      const { url } = await startTestApi(database.url);
      const before = await stateOfAll();
      for (const [name, route] of WITH) {
        const given = { ...(route.takesBytes && { 'content-type': 'application/octet-stream' }), ...headers };
        const answer = await sendRequest(url + addressOf(route), {
          method: route.method,
          body: { itemIds: [0] },
          headers: given as Record<string, string>,
        });
        expect([name, answer.status, answer.body?.code]).toEqual([name, 415, 'MEDIA_TYPE_UNSUPPORTED']);
      }
      expect(await stateOfAll()).toEqual(before);
    },
  );

  test('that is multipart is refused by routes without a file', async () => {
    const { url } = await startTestApi(database.url);
    const form = new FormData();
    form.append('itemIds', '0');
    const response = await fetch(`${url}/api/v1/jobs/${jobId}/pending/retry`, { method: 'POST', body: form });
    expect([response.status, response.headers.get('accept')]).toEqual([415, 'application/json']);
  });

  test('that is null is not treated as missing', async () => {
    const { url } = await startTestApi(database.url);
    for (const [name, route] of WITH.filter(([, { takesBytes }]) => !takesBytes)) {
      const answer = await sendRequest(url + addressOf(route), { method: route.method, body: 'null' });
      // Accounts are disabled here, but the request is checked first.
      expect([name, answer.status]).toEqual([name, 400]);
    }
    const left = await sendRequest(`${url}/api/v1/jobs/${jobId}/pending/retry`, { method: 'POST' });
    expect([left.status, left.body]).toEqual([200, { readied: 0 }]);
  });

  test.each([{}, { 'idempotency-key': 'deep' }])(
    'that is nested too deeply is refused with our own message (%j)',
    async (headers) => {
      const { url } = await startTestApi(database.url);
      for (const levels of [1500, 5000, 50_000]) {
        const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
        for (const [path, body] of [
          ['/api/v1/jobs', `{"pipeline":"none","items":[${deep}]}`],
          [`/api/v1/jobs/${jobId}/items`, `{"items":[${deep}]}`],
          [`/api/v1/jobs/${jobId}/reprocess`, `{"scope":"job","edits":[{"seq":0,"input":${deep}}]}`],
          [`/api/v1/jobs/${jobId}/errors/edit`, `{"errorGroup":"x","change":{"field":"n","to":${deep}}}`],
        ] as const) {
          const answer = await sendRequest(url + path, { method: 'POST', body, headers });
          expect([
            path,
            answer.status >= 400 && answer.status < 500,
            answer.text.includes('call stack'),
          ]).toEqual([path, true, false]);
        }
      }
    },
  );
});

describe('a query', () => {
  test('with an unknown name is refused on every route', async () => {
    const { url } = await startTestApi(database.url);
    for (const [name, route] of routes) {
      const answer = await sendRequest(`${url}${addressOf(route)}?surprise=1`, { method: route.method });
      expect([name, answer.status, answer.body?.code]).toEqual([name, 400, 'REQUEST_INVALID']);
    }
  });

  test('with a number that is not written in digits is refused', async () => {
    const { url } = await startTestApi(database.url);
    for (const text of ['', '0x10', '1e1', '+5', '%205', '5%20', '05', '1.0', '5&phase=5', 'NaN', '%D9%A5'])
      for (const path of [
        `/api/v1/jobs/${jobId}/items?phase=${text}`,
        `/api/v1/jobs/${jobId}/summary?generation=${text}`,
        `/api/v1/jobs/${jobId}/timeline?points=${text}`,
        `/api/v1/events?lastEventId=${text}`,
        `/api/v1/jobs/${jobId}/items/${text || '%20'}`,
      ]) {
        const answer = await sendRequest(url + path);
        expect([path, answer.status, answer.body?.code]).toEqual([path, 400, 'REQUEST_INVALID']);
      }
  });

  test('that is long is not echoed in the answer', async () => {
    const { url } = await startTestApi(database.url);
    const columns = Array.from({ length: 1200 }, (_, n) => `unknown-${n}`).join(',');
    const answer = await sendRequest(`${url}/api/v1/jobs/${jobId}/export?columns=${columns}`);
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(4000);
  });
});

describe('a refusal', () => {
  test('has the fields of RFC 9457 besides ours, and its media type on request', async () => {
    const { url } = await startTestApi(database.url);
    const path = `${url}/api/v1/jobs/${newId()}`;
    const { body, headers } = await sendRequest(path);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(body).toMatchObject({
      type: 'urn:rowmill:error:job-not-found',
      title: 'Job not found',
      status: 404,
      detail: body!.message,
      code: 'JOB_NOT_FOUND',
      docs: 'docs/errors.md#job_not_found',
    });
    const asked = await sendRequest(path, { headers: { accept: 'application/problem+json' } });
    expect(asked.headers['content-type']).toBe('application/problem+json; charset=utf-8');
  });

  test('of a method lists the allowed methods', async () => {
    const { url } = await startTestApi(database.url);
    const of = async (method: string, path: string) => {
      const { status, headers } = await sendRequest(url + path, { method });
      return [status, headers.allow];
    };
    expect(await of('PUT', '/api/v1/jobs')).toEqual([405, 'GET, HEAD, POST']);
    expect(await of('POST', `/api/jobs/${jobId}`)).toEqual([405, 'GET, HEAD, PATCH, DELETE']);
    expect(await of('DELETE', '/healthz')).toEqual([405, 'GET, HEAD']);
    expect(await of('GET', `/api/v1/jobs/${jobId}/pause`)).toEqual([405, 'POST']);
  });

  test('of an unauthenticated caller names the authentication scheme', async () => {
    const { url } = await startTestApi(database.url, { settings: { authentication: 'password' } });
    await addUser(database, 'manners').catch(() => {});
    const { authorization } = await keyHeaders(database, 'manners', ['read']);
    const of = async (headers: Record<string, string>) =>
      (await sendRequest(`${url}/api/v1/jobs`, { headers })).headers['www-authenticate'];
    expect(await of({})).toBe('Bearer realm="rowmill"');
    expect(await of({ authorization: `${authorization}x` })).toBe(
      'Bearer realm="rowmill", error="invalid_token"',
    );
    expect(await of({ authorization })).toBeUndefined();
  });

  test('of a job that is being finalized has Retry-After if a retry helps', async () => {
    const { url } = await startTestApi(database.url, { settings: { reprocessWaitMs: 1 } });
    const ending = await jobWithItems(database.context(), { items: 1 });
    await database.query(`update jobs set state = 'CANCELLING' where job_id = $1`, [ending]);
    const of = async (method: string, path: string, body?: unknown) => {
      const answer = await sendRequest(`${url}/api/v1/jobs/${ending}${path}`, { method, body });
      return [answer.status, answer.headers['retry-after'], answer.body?.retryAfterMs];
    };
    expect(await of('DELETE', '')).toEqual([409, '1', 1000]);
    expect(await of('POST', '/reprocess', { scope: 'job' })).toEqual([409, '1', 1000]);
    expect(await of('POST', '/pause')).toEqual([409, undefined, undefined]);
  });

  test('has a hint without command-line instructions, whatever its code', () => {
    for (const [code, entry] of Object.entries(ERROR_REGISTRY)) {
      const hint = apiHintOf(code, entry.hint);
      expect([code, hint]).not.toEqual([code, '']);
      expect(hint).not.toMatch(/rowmill [a-z]+|--[a-z]/);
      // Nor does a hint given for a single error.
      expect(apiHintOf(code, 'Say so: --map a=b')).toBe(hint);
    }
  });
});

describe('a request', () => {
  test('without Host is refused with a body', async () => {
    const { url } = await startTestApi(database.url);
    const { port, hostname } = new URL(url);
    const text = await new Promise<string>((resolve, reject) => {
      let heard = '';
      const socket = connect(Number(port), hostname, () =>
        socket.write('GET /api/v1/jobs HTTP/1.1\r\nConnection: close\r\n\r\n'),
      );
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        heard += chunk;
      });
      socket.on('end', () => resolve(heard)).on('error', reject);
    });
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(errorAnswer.parse(JSON.parse(text.slice(text.indexOf('{'))))).toMatchObject({
      code: 'REQUEST_INVALID',
      message: 'expected the header Host',
    });
  });

  test.each([{}, { accept: '*/*' }, { accept: 'text/html' }])(
    'for the page gets it with %j',
    async (headers) => {
      const { url } = await startTestApi(database.url);
      for (const method of ['GET', 'HEAD']) {
        const answer = await sendRequest(`${url}/`, { method, headers: headers as Record<string, string> });
        expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      }
      const json = await sendRequest(`${url}/`, { headers: { accept: 'application/json' } });
      expect([json.status, json.body?.code]).toEqual([404, 'ROUTE_NOT_FOUND']);
    },
  );

  test('that is malformed anywhere neither breaks the server nor takes effect', async () => {
    const { url } = await startTestApi(database.url);
    const before = await stateOfAll();
    const media = fc.constantFrom(
      'application/json',
      'application/json; charset=latin1',
      'application/octet-stream',
      'multipart/form-data',
      'multipart/form-data; boundary=x',
      'text/csv',
      '/',
      ';;;',
    );
    const encodings = fc.constantFrom(undefined, 'identity', 'gzip', 'br, gzip', 'chunked');
    const bodies = fc.constantFrom('', 'null', '[]', '1', '"x"', '{"surprise":1}', '{', '--x\r\n', '\0');
    const queries = fc.constantFrom(
      '',
      '?surprise=',
      '?limit=0x1',
      '?cursor=',
      '?cursor=x',
      '?limit=-1',
      '?%',
      '?a[]=1',
    );
    const unsafe = routes.filter(([, { method }]) => method !== 'GET');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...unsafe),
        media,
        encodings,
        bodies,
        queries,
        async ([name, route], type, encoding, body, query) => {
          // The unmodified request would take effect.
          if (query === '' && (body === '' || route.takesBytes)) return;
          const answer = await sendRequest(url + addressOf(route) + query, {
            method: route.method,
            body,
            headers: {
              'content-type': type,
              ...(encoding !== undefined && { 'content-encoding': encoding }),
            },
          });
          expect(answer.status, `${name} ${answer.text}`).toBeGreaterThanOrEqual(400);
          expect(answer.status, `${name} ${answer.text}`).toBeLessThan(500);
          errorAnswer.parse(answer.body);
        },
      ),
      { numRuns: depth(150, 1500) },
    );
    expect(await stateOfAll()).toEqual(before);
  });
});

describe('a server that stops', () => {
  test('answers new requests with 503 in the shape of every refusal, and running ones as usual', async () => {
    const api = await startTestApi(database.url, { graceMs: 30_000 });
    const { port, hostname } = new URL(api.url);
    const slow = connect(Number(port), hostname).setEncoding('utf8');
    let heard = '';
    slow.on('data', (chunk: string) => {
      heard += chunk;
    });
    const ended = new Promise((resolve) => slow.once('close', resolve));
    const body = '{"weight":2}';
    slow.write(
      `PATCH /api/v1/owners/local HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n{`,
    );
    // Its headers have been read once a later request on another connection is answered.
    await sendRequest(`${api.url}/healthz`);
    const stopped = api.stop();
    let refused = await sendRequest(`${api.url}/api/v1/jobs`);
    while (refused.status === 200) refused = await sendRequest(`${api.url}/api/v1/jobs`);
    expect(refused.status).toBe(503);
    expect(errorAnswer.parse(refused.body)).toMatchObject({ code: 'SERVER_STOPPING', retryAfterMs: 1000 });
    expect(refused.headers).toMatchObject({ 'retry-after': '1', connection: 'close' });
    slow.write(body.slice(1));
    await ended;
    expect(heard).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(heard.toLowerCase()).toContain('connection: close');
    await stopped;
  });
});
