// Opens one connection to the embedded server, for the few statements that its supervision needs.
import pg from 'pg';

export interface ServerAddress {
  port: number;
  password: string;
}

export async function withClient<T>(
  address: ServerAddress,
  database: string,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: address.port,
    user: 'rowmill',
    password: address.password,
    database,
    ssl: false,
    connectionTimeoutMillis: 2_000,
    query_timeout: 30_000,
  });
  // The driver also emits its rejections as events; without a listener they would crash the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}
