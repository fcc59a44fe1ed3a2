// Every route of the OpenAPI document is called with right, wrong and hostile requests. Whatever comes, the answer is one
// that the document lists, in the shape it says, and nothing breaks.
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { errorAnswer, type Route } from '../../src/contract/route.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import { openApiDocument } from '../../src/api/openapi.ts';
import type { RunningApi } from '../../src/api/start-api.ts';
import { openRowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/worker/define-pipeline.ts';
import { hostileValues, type JsonSchema, validValues } from '../support/schema-arbitrary.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const RUNS = 12;

interface Operation {
  operationId: RouteName;
  parameters: { name: string; in: 'path' | 'query' | 'header'; required: boolean; schema: JsonSchema }[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, unknown>;
}
const document = openApiDocument() as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

const pipeline = definePipeline({
  name: 'every-route',
  outputs: [],
  phases: [{ name: 'only', run: (row) => ({ seen: row }) }],
});
let jobIds: string[];
beforeAll(async () => {
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const rows = [{ name: 'one' }, { name: 'two' }, { name: 'three' }];
  const held = await rowmill.submit(pipeline, rows, { hold: true });
  const ended = await rowmill.submit(pipeline, rows);
  const worker = await rowmill.startWorker([pipeline]);
  await rowmill.whenFinished(ended);
  await worker.stop();
  await rowmill.close();
  jobIds = [held, ended];
});

interface Request {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: unknown;
}

/** Each part is right most of the time, so that the later ones are reached too. */
function requests({ parameters, requestBody }: Operation): fc.Arbitrary<Request> {
  const { schemas } = document.components;
  const mostly = (right: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 4, arbitrary: right }, { weight: 1, arbitrary: hostileValues });
  const part = (place: 'path' | 'query') => {
    const listed = parameters.filter((each) => each.in === place);
    const values = listed.map(({ name, schema }) => [
      name,
      mostly(name === 'jobId' ? fc.constantFrom(...jobIds) : validValues(schema, schemas)),
    ]);
    const requiredKeys = listed.filter(({ required }) => required).map(({ name }) => name) as never[];
    return fc.record(Object.fromEntries(values) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys });
  };
  const bodySchema = requestBody?.content['application/json']?.schema;
  return fc.record({
    params: part('path'),
    query: part('query'),
    body: bodySchema ? mostly(validValues(bodySchema, schemas)) : fc.constant(undefined),
  });
}

async function send(api: RunningApi, path: string, method: string, { params, query, body }: Request) {
  const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  const encode = (value: unknown): string => encodeURIComponent(text(value).toWellFormed()) || '%20';
  const search = Object.entries(query)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&');
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encode(params[name]));
  return fetch(`${api.url}${address}${search === '' ? '' : `?${search}`}`, {
    method,
    signal: AbortSignal.timeout(60_000),
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body) ?? 'null',
    }),
  });
}

async function checkAnswer(operation: Operation, response: Response): Promise<void> {
  const { operationId, responses } = operation;
  const route: Route = ROUTES[operationId];
  if (route.answer.type === 'events' && response.ok) {
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    await response.body?.cancel();
    return;
  }
  const text = await response.text();
  // An address that is no longer this route's: nothing to say about the route.
  const isOther = response.status === 404 && text.includes('"ROUTE_NOT_FOUND"');
  if (isOther) return;
  expect(Object.keys(responses), `${operationId} ${text.slice(0, 300)}`).toContain(String(response.status));
  if (!response.ok) {
    expect(errorAnswer.parse(JSON.parse(text)).code, text).not.toBe('INTERNAL_ERROR');
    return;
  }
  if (route.answer.schema) route.answer.schema.parse(JSON.parse(text));
}

/** Routes that are called last, and only as often as here: they take away what the others look at. */
const DESTRUCTIVE: RouteName[] = ['deleteJob'];

test.each(operations.filter(({ operation }) => !DESTRUCTIVE.includes(operation.operationId)))(
  '$operation.operationId answers as documented, whatever it is sent',
  async ({ path, method, operation }) => {
    const api = await startTestApi(database.url, {
      pipelines: [pipeline],
      settings: { pendingDashboard: 'on', streamsAtOnce: 10_000 },
    });
    await fc.assert(
      fc.asyncProperty(requests(operation), async (request) => {
        await checkAnswer(operation, await send(api, path, method, request));
      }),
      { numRuns: RUNS },
    );
  },
);
