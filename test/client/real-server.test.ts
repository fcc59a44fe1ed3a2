// The client against the real server, over connections that are cut before every change.
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/client/create-client.ts';
import type { FollowedEvent } from '../../src/client/follow-events.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-real-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const echo = definePipeline({ name: 'echo', phases: [{ name: 'only', run: (row) => row }] });

/** Forwards bytes until the test cuts the connection. */
async function startCuttingProxy(
  target: string,
): Promise<{ url: string; cut: () => number; stop: () => void }> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): number => {
    const count = sockets.size;
    for (const socket of sockets) socket.resetAndDestroy();
    return count;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    stop: () => {
      cut();
      server.close();
    },
  };
}

test('delivers every change of a job exactly once, although each happens while the connection is cut', async () => {
  const api = await startTestApi(database.url, {
    pipelines: [echo],
    settings: { blobStore: join(folder, 'blobs') },
  });
  const client = createClient({ baseUrl: api.url, validate: true });
  const { jobId } = await client.createJob({ pipeline: 'echo', items: [{ n: 1 }, { n: 2 }], hold: true });

  const proxy = await startCuttingProxy(api.url);
  const changes = [
    () => client.resumeJob({ jobId }),
    () => client.pauseJob({ jobId }),
    () => client.resumeJob({ jobId }),
    () => client.cancelJob({ jobId }),
  ];
  let cuts = 0;
  const change = async (): Promise<void> => {
    const next = changes.shift();
    if (!next) return;
    cuts += proxy.cut() > 0 ? 1 : 0;
    await next();
  };
  const seen: Extract<FollowedEvent, { type: 'lifecycle' }>[] = [];
  try {
    let isFirst = true;
    for await (const event of createClient({ baseUrl: proxy.url }).follow(jobId)) {
      if (event.type === 'lifecycle') seen.push(event);
      if (event.type === 'lifecycle' || isFirst) await change();
      isFirst = false;
    }
  } finally {
    proxy.stop();
  }
  expect(cuts).toBe(4);
  expect(seen.map((event) => event.kind)).toEqual([
    'job.resumed',
    'job.paused',
    'job.resumed',
    'job.cancelling',
    'job.finished',
  ]);
  const positions = seen.map((event) => event.position);
  expect(positions).toEqual([...positions].sort((a, b) => a - b));
  expect(seen.at(-1)).toMatchObject({ state: 'CANCELLED', generation: 1 });
});
