// Starts a real S3 server for the tests of this folder and stops it afterwards.
import type { TestProject } from 'vitest/node';
import { startRadosgw } from './start-radosgw.ts';

const BUCKET = 'rowmill-test';

declare module 'vitest' {
  interface ProvidedContext {
    s3Endpoint: string;
    s3Bucket: string;
  }
}

export default async function setUpRadosgw(project: TestProject): Promise<() => Promise<void>> {
  const server = await startRadosgw(BUCKET);
  project.provide('s3Endpoint', server.endpoint);
  project.provide('s3Bucket', BUCKET);
  return server.stop;
}
