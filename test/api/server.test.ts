// Rules of every route: one shape of refusals, common headers, and a document that describes all routes.
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/api/documents/openapi.ts';
import { ROUTES } from '../../src/contract/routes.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

describe('the server', () => {
  test('answers the health check, with the headers of every response', async () => {
    const { url } = await startTestApi(database.url);
    const response = await fetch(`${url}/healthz`);
    expect(await response.json()).toEqual({ ok: true });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test.each([
    ['GET', '/api/nothing', 404, 'ROUTE_NOT_FOUND'],
    ['DELETE', '/healthz', 405, 'METHOD_NOT_ALLOWED'],
    ['GET', '/api/jobs/not-an-id', 400, 'REQUEST_INVALID'],
    ['GET', `/api/jobs/${'x'.repeat(600)}`, 400, 'REQUEST_INVALID'],
    ['GET', '/api/jobs/%zz', 400, 'REQUEST_INVALID'],
    ['GET', '/api/jobs/00000000-0000-4000-8000-000000000000', 404, 'JOB_NOT_FOUND'],
  ])('refuses %s %s in the shape of every refusal', async (method, path, status, code) => {
    const { url } = await startTestApi(database.url);
    const response = await fetch(url + path, { method });
    expect(response.status).toBe(status);
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toMatchObject({ code, message: expect.any(String), hint: expect.any(String) });
    expect(body.requestId).toBe(response.headers.get('x-request-id'));
  });

  test('describes every route', async () => {
    const { url } = await startTestApi(database.url);
    const document = (await (await fetch(`${url}/api/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const described = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(described.sort()).toEqual(Object.keys(ROUTES).sort());
    expect(JSON.stringify(document)).not.toContain('$defs');
  });

  test('describes list parameters, and the headers of answers and refusals', () => {
    const { paths } = openApiDocument() as { paths: Record<string, Record<string, Described>> };
    interface Described {
      parameters: {
        name: string;
        in: string;
        schema: { items?: { enum?: string[] } };
        deprecated?: boolean;
      }[];
      responses: Record<string, { headers?: object }>;
    }
    const items = paths['/api/v1/jobs/{jobId}/items']!.get!;
    const named = (name: string) => items.parameters.find((each) => each.name === name);
    expect(named('statuses')?.schema.items?.enum).toContain('ERROR');
    expect([named('limit')?.deprecated, named('pageSize')?.deprecated, named('after')?.deprecated]).toEqual([
      undefined,
      true,
      true,
    ]);
    expect(items.responses['200']!.headers).toMatchObject({ Link: {}, ETag: {} });
    const retry = paths['/api/v1/jobs/{jobId}/pending/retry']!.post!;
    for (const status of ['400', '401', '403', '404', '409', '415', '429', '503'])
      expect(Object.keys(retry.responses)).toContain(status);
    expect(retry.responses['401']!.headers).toHaveProperty('WWW-Authenticate');
    const file = paths['/api/v1/jobs/{jobId}/files/{fileId}']!.get!;
    for (const status of ['206', '304', '416']) expect(Object.keys(file.responses)).toContain(status);
    expect(file.parameters.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['Range', 'If-Range', 'If-None-Match']),
    );
  });

  test('generates the document once, because any caller may request it', () => {
    expect(openApiDocument()).toBe(openApiDocument());
  });

  test.each(['rows.example.org', 'ftp://rows.example.org', ''])(
    'does not start with the public URL %j',
    async (apiPublicUrl) => {
      const starting = startTestApi(database.url, { settings: { apiPublicUrl } });
      await expect(starting).rejects.toMatchObject({ code: 'SETTINGS_INVALID' });
    },
  );

  test('listens only on this machine without accounts', async () => {
    await expect(startTestApi(database.url, { settings: { apiHost: '0.0.0.0' } })).rejects.toMatchObject({
      code: 'API_ADDRESS_REFUSED',
    });
  });
});
