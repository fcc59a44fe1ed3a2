// A process that uses a blob store: `head STORE` reads the head of a key, `endless STORE` writes until it is killed,
// and `measure STORE BYTES` writes and reads that many bytes and prints by how much the process grew.
import type { BlobStore } from '../../src/platform/blob-store/blob-store.ts';
import { openBlobStore } from '../../src/platform/blob-store/open-blob-store.ts';

const [action, location, length] = process.argv.slice(2) as [string, string, string | undefined];
const CHUNK_BYTES = 64 * 1024;

function report(event: string, fields: Record<string, unknown> = {}): void {
  console.log(JSON.stringify({ event, ...fields }));
}

async function* bytes(count: number, onChunk?: (sent: number) => void): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < count; sent += CHUNK_BYTES) {
    // Newly allocated, so that a store that keeps chunks would be noticed.
    yield Buffer.alloc(Math.min(CHUNK_BYTES, count - sent), 'rowmill ');
    onChunk?.(sent);
  }
}

async function writeEndlessly(store: BlobStore): Promise<void> {
  await store.put(
    'outputs/a',
    bytes(Number.POSITIVE_INFINITY, (sent) => {
      if (sent === CHUNK_BYTES * 256) report('writing');
    }),
  );
}

async function measure(store: BlobStore, count: number): Promise<void> {
  await store.put('outputs/warm-up', bytes(16 * 1024 * 1024));
  await store.verify(await store.put('outputs/warm-up', bytes(10)));
  const before = process.memoryUsage.rss();
  let peak = before;
  const look = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 10);
  const blob = await store.put('outputs/a', bytes(count));
  report('written', { bytes: blob.bytes, growthBytes: peak - before });
  peak = before;
  let read = 0;
  for await (const chunk of await store.get(blob.key)) read += (chunk as Buffer).length;
  report('read', { bytes: read, growthBytes: peak - before });
  clearInterval(look);
}

const store = openBlobStore(location);
try {
  if (action === 'head') await store.head('a');
  else if (action === 'endless') await writeEndlessly(store);
  else if (action === 'measure') await measure(store, Number(length));
  report('ended');
} catch (error) {
  const { code, message, hint } = error as { code?: string; message?: string; hint?: string };
  report('failed', { code, message, hint });
}
await store.close();
