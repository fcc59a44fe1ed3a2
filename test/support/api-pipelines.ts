// Pipelines and uploads for tests of the HTTP API.
import { z } from 'zod';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';

/** Doubles n; fails for 13. */
export const doubling: Pipeline = definePipeline({
  name: 'doubling',
  input: z.object({ n: z.coerce.number(), note: z.string().optional() }),
  params: z.strictObject({ factor: z.coerce.number().default(2) }),
  phases: [
    {
      name: 'double',
      run: async ({ n }) => {
        if (n === 13) throw new Error('thirteen is broken');
        return { doubled: n * 2 };
      },
      retry: { permanent: { maxAttempts: 1 } },
    },
  ],
});

export function uploadForm(job: object, text: string, name = 'rows.csv'): FormData {
  const form = new FormData();
  form.append('job', JSON.stringify(job));
  form.append('file', new Blob([text]), name);
  return form;
}

export function csvOf(count: number, from = 0): string {
  return `n,note\n${Array.from({ length: count }, (_, n) => `${n + from},row ${n + from}\n`).join('')}`;
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test is about
  body: any;
  headers: Headers;
}

/** Sends and returns JSON; a FormData is sent unchanged. */
export async function send(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isForm = body instanceof FormData;
  const response = await fetch(url + path, {
    method,
    headers: { ...(body !== undefined && !isForm && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('application/json');
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}
