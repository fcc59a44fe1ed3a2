// A local server with the OpenAI-compatible interface: the test queues answers, and reads the requests.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export interface StandInRequest {
  url: string;
  /** Time of arrival, for differences. */
  atMs: number;
  headers: IncomingHttpHeaders;
  body: { model: string; messages?: { role: string; content: string }[]; input?: string[] };
}

/** A text is an answer of 10 input and 5 output tokens; `hang` never answers. */
type StandInAnswer =
  | string
  | 'hang'
  | { text: string; cachedTokens: number }
  | { status: number; headers?: Record<string, string>; message?: string; code?: string; details?: unknown };

export interface ChatStandIn {
  url: string;
  requests: StandInRequest[];
  /** Answers of a model, in this order. */
  queue(model: string, ...answers: StandInAnswer[]): void;
  /** Resolves at the next request. */
  nextRequest(): Promise<void>;
  stop(): Promise<void>;
}

export async function startChatStandIn(): Promise<ChatStandIn> {
  const requests: StandInRequest[] = [];
  const answers = new Map<string, StandInAnswer[]>();
  const server = createServer((request, response) => {
    void json(request).then((parsed) => {
      const body = parsed as StandInRequest['body'];
      requests.push({ url: request.url!, atMs: performance.now(), headers: request.headers, body });
      server.emit('asked');
      const send = (status: number, value: object, headers = {}): void => {
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify(value));
      };
      if (body.input) {
        const data = body.input.map((text, index) => ({ index, embedding: [text.length, 1] }));
        const tokens = body.input.length * 4;
        return send(200, { data, usage: { prompt_tokens: tokens, total_tokens: tokens } });
      }
      const answer = answers.get(body.model)?.shift() ?? { status: 500, message: 'nothing is queued' };
      if (answer === 'hang') return;
      if (typeof answer !== 'string' && 'status' in answer) {
        const { status, headers, message = 'refused', code = null, details } = answer;
        return send(status, { error: { message, code, details } }, headers);
      }
      const { text, cachedTokens } = typeof answer === 'string' ? { text: answer, cachedTokens: 0 } : answer;
      const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }];
      const usage = {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: cachedTokens },
      };
      send(200, { id: 'answer', object: 'chat.completion', created: 1, model: body.model, choices, usage });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    queue: (model, ...more) => void answers.set(model, [...(answers.get(model) ?? []), ...more]),
    nextRequest: async () => void (await once(server, 'asked')),
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
