// Connects to an embedded server that another process keeps running in the same folder.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';

/** The url of the server running in this folder, or null when none answers. */
export async function attachToRunning(dataDir: string): Promise<string | null> {
  try {
    const port = (await readFile(join(dataDir, 'postgres.port'), 'utf8')).trim();
    const password = (await readFile(join(dataDir, 'postgres.password'), 'utf8')).trim();
    const url = `postgres://rowmill:${encodeURIComponent(password)}@127.0.0.1:${Number(port)}/rowmill`;
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
    client.on('error', () => {});
    await client.connect();
    await client.end();
    return url;
  } catch {
    return null;
  }
}
