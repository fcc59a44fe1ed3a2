// A small HTTP server that checks requests and answers against the schemas of the contract, so that tests cannot send
// answers that no real server may send. The test supplies the answer of each route.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { z } from 'zod';
import { barePath } from '../../src/contract/api-version.ts';
import type { Route } from '../../src/contract/route.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import { stopAfterTest } from '../support/stop-after-test.ts';

export interface Asked {
  name: RouteName;
  params: Record<string, string>;
  query: Record<string, unknown>;
  /** Null for multipart requests, whose bytes are in `raw`. */
  body: unknown;
  headers: IncomingMessage['headers'];
  raw: Buffer;
  reply: ServerResponse;
}

/** Returns the answer, or undefined if it has already answered. */
type Answer = (asked: Asked) => unknown;

export interface ContractServer {
  url: string;
  asked: Asked[];
  /** Closes all connections, as a dying server does. */
  dropConnections(): void;
}

export class Refusal {
  readonly status: number;
  readonly code: string;
  readonly headers: Record<string, string>;
  constructor(status: number, code: string, headers: Record<string, string> = {}) {
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** Sends the first event of a stream. */
export function beginEvents(reply: ServerResponse, position = 0, missed = false): void {
  reply.writeHead(200, { 'content-type': 'text/event-stream' });
  reply.write(`retry: 10\nid: ${position}\nevent: open\ndata: ${JSON.stringify({ position, missed })}\n\n`);
}

export async function startContractServer(
  answers: Partial<Record<RouteName, Answer>>,
  options: { base?: string } = {},
): Promise<ContractServer> {
  const base = options.base ?? '';
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, reply) => {
    void answerRequest(request, reply).catch((error: unknown) => {
      if (!reply.headersSent) reply.writeHead(599);
      reply.end(String(error));
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });

  async function answerRequest(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://test');
    const found = url.pathname.startsWith(base)
      ? findRoute(request.method!, url.pathname.slice(base.length))
      : null;
    if (!found) {
      reply.writeHead(404, { 'content-type': 'text/html' });
      reply.end('<h1>nothing here</h1>');
      return;
    }
    const { name, route } = found;
    const raw = await readAll(request);
    const isMultipart = request.headers['content-type']?.startsWith('multipart/') === true;
    const each: Asked = {
      name,
      params: check(route.params, found.params) as Record<string, string>,
      query: check(route.query, queryOf(url)) as Record<string, unknown>,
      body: isMultipart ? null : check(route.body, raw.length > 0 ? JSON.parse(raw.toString()) : {}),
      headers: request.headers,
      raw,
      reply,
    };
    asked.push(each);
    const answer = await answers[name]?.(each);
    if (answer instanceof Refusal) {
      const { status, code, headers } = answer;
      reply.writeHead(status, { 'content-type': 'application/json', ...headers });
      reply.end(JSON.stringify({ code, message: `refused: ${code}`, hint: 'a hint', requestId: 'req-1' }));
      return;
    }
    if (answer === undefined && route.answer.status !== 204) return;
    const { status, schema } = route.answer;
    reply.writeHead(status, { 'content-type': 'application/json' });
    if (schema) schema.parse(answer);
    reply.end(schema ? JSON.stringify(answer) : undefined);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dropConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  stopAfterTest(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    dropConnections();
    await closed;
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
    asked,
    dropConnections,
  };
}

function findRoute(
  method: string,
  path: string,
): { name: RouteName; route: Route; params: Record<string, string> } | null {
  const candidates = Object.entries(ROUTES as Record<string, Route>)
    .filter(([, route]) => route.method === method)
    // Sorts /api/jobs/preview before /api/jobs/:jobId.
    .sort(([, a], [, b]) => a.path.split(':').length - b.path.split(':').length);
  for (const [name, route] of candidates) {
    const names = [...route.path.matchAll(/:([A-Za-z]+)/g)].map((match) => match[1]!);
    const match = new RegExp(`^${route.path.replace(/:[A-Za-z]+/g, '([^/]+)')}$`).exec(barePath(path));
    if (!match) continue;
    const params = Object.fromEntries(names.map((each, at) => [each, decodeURIComponent(match[at + 1]!)]));
    return { name: name as RouteName, route, params };
  }
  return null;
}

function check(schema: z.ZodType | undefined, value: unknown): unknown {
  return schema ? schema.parse(value) : value;
}

function queryOf(url: URL): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(url.searchParams.keys())].map((key) => {
      const values = url.searchParams.getAll(key);
      return [key, values.length === 1 ? values[0]! : values];
    }),
  );
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
