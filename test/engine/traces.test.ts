// Traces of a real job, as a collector on the loopback address receives them.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { openRowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { useTestDatabase } from '../support/test-database.ts';

interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code?: number };
  attributes: { key: string; value: Record<string, unknown> }[];
}

const database = useTestDatabase();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(answer: (request: IncomingMessage, body: string) => number): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => response.writeHead(answer(request, body)).end('{}'));
  });
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A collector that parses what it gets, and a service that keeps the header of each request. */
async function runJob(settings: { otelTracesSamplerArg?: number; answer?: number; off?: boolean }) {
  const spans: ReceivedSpan[] = [];
  const resources: unknown[] = [];
  const collector = await listen(({ url, method, headers }, body) => {
    if (url !== '/v1/traces' || method !== 'POST' || headers['content-type'] !== 'application/json')
      return 404;
    const { resourceSpans } = JSON.parse(body);
    for (const { resource, scopeSpans } of resourceSpans) {
      resources.push(resource.attributes[0]);
      for (const { spans: sent } of scopeSpans) spans.push(...sent);
    }
    return settings.answer ?? 200;
  });
  const parents = new Map<string, string | undefined>();
  const service = await listen(({ url, headers }) => {
    parents.set(url!, headers.traceparent as string | undefined);
    return url!.startsWith('/2') ? 422 : 200;
  });
  const pipeline = definePipeline({
    name: 'prices',
    phases: [
      {
        name: 'look',
        run: async (row, context) => {
          await context.fetch(`${service}/${(row as { n: number }).n}?key=secret`);
          return row;
        },
      },
    ],
  });
  const lines: string[] = [];
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const worker = await rowmill.startWorker([pipeline], {
    log: createLogger('warn', (line) => lines.push(line)),
    settings: {
      ...(settings.off ? {} : { otelExporterOtlpEndpoint: collector }),
      otelTracesSamplerArg: settings.otelTracesSamplerArg ?? 1,
    },
  });
  const jobId = await rowmill.submit(pipeline, [{ n: 0 }, { n: 1 }, { n: 2 }]);
  await rowmill.whenFinished(jobId);
  await worker.stop();
  await rowmill.close();
  return { jobId, spans, resources, parents, lines };
}

test('spans of a job are one trace, from the job to the requests of its calls', async () => {
  const { jobId, spans, resources, parents } = await runJob({});
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([jobId.replaceAll('-', '')]));
  expect(resources[0]).toEqual({ key: 'service.name', value: { stringValue: 'rowmill-worker' } });
  const named = (name: string) => spans.filter((span) => span.name === name);
  const [job] = named('job');
  expect(job).toMatchObject({ kind: 1, status: {} });
  expect(job!.parentSpanId).toBeUndefined();
  for (const name of ['claim', 'flush', 'finalize', 'row']) {
    expect(named(name).length, name).toBeGreaterThan(0);
    for (const span of named(name)) expect(span.parentSpanId).toBe(job!.spanId);
  }
  expect(named('row')).toHaveLength(3);
  expect(named('call look')).toHaveLength(3);
  expect(named('GET')).toHaveLength(3);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  for (const span of spans) {
    expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano)).toBe(true);
  }
  for (const request of named('GET')) {
    const call = named('call look').find(({ spanId }) => spanId === request.parentSpanId)!;
    expect(named('row').map(({ spanId }) => spanId)).toContain(call.parentSpanId);
    expect(request.kind).toBe(3);
  }
  expect(named('call look').filter(({ status }) => status.code === 2)).toHaveLength(1);
  // The service joins the span of the call.
  const calls = named('call look').map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`);
  expect([...parents.values()].sort()).toEqual(calls.sort());
  expect(JSON.stringify(spans)).not.toContain('secret');
});

test('rows that are not sampled have no spans, and their requests say so', async () => {
  const { spans, parents } = await runJob({ otelTracesSamplerArg: 0.5 });
  expect(spans.filter(({ name }) => name === 'row')).toHaveLength(2);
  expect([...parents].sort().map(([url, parent]) => [url[1], parent!.slice(-2)])).toEqual([
    ['0', '01'],
    ['1', '00'],
    ['2', '01'],
  ]);
});

test('a collector that refuses costs a log line and nothing else', async () => {
  const { lines } = await runJob({ answer: 503 });
  expect(lines.some((line) => line.includes('traces not sent') && line.includes('503'))).toBe(true);
});

test('without the setting nothing is sent', async () => {
  const { spans, parents, lines } = await runJob({ off: true });
  expect(spans).toEqual([]);
  expect([...parents.values()]).toEqual([undefined, undefined, undefined]);
  expect(lines).toEqual([]);
});
