// Starts a real S3 server on loopback and returns its address; its credentials are set in the environment.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { S3 } from '@aws-sdk/client-s3';

export interface Radosgw {
  endpoint: string;
  stop(): Promise<void>;
}

/** The bucket is created. */
export async function startRadosgw(bucket: string): Promise<Radosgw> {
  const scratch = await mkdtemp(join(tmpdir(), 'rowmill-radosgw-'));
  const script = fileURLToPath(new URL('start-radosgw.sh', import.meta.url));
  const server = spawn(script, [scratch], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(server, 'exit');
  const problem = text(server.stderr);
  const stop = async (): Promise<void> => {
    server.kill('SIGTERM');
    await exited;
    await rm(scratch, { recursive: true, force: true });
  };
  const ready = once(createInterface({ input: server.stdout }), 'line');
  const first = await Promise.race([ready, exited.then(() => null)]);
  if (!first) {
    await stop();
    throw new Error((await problem).trim());
  }
  const endpoint = `http://127.0.0.1:${process.env.S3_PORT ?? '54620'}`;
  process.env.AWS_ACCESS_KEY_ID = 'rowmill';
  process.env.AWS_SECRET_ACCESS_KEY = 'rowmill-secret';
  const s3 = new S3({ endpoint, region: 'us-east-1', forcePathStyle: true });
  await s3.createBucket({ Bucket: bucket });
  s3.destroy();
  return { endpoint, stop };
}
