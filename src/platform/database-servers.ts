// Several PostgreSQL servers in one address, as libpq writes them: postgres://user@a:5432,b:5432/name, or
// ?host=a,b&port=5432,5433. The driver knows only one host, so this module finds the server that accepts writes: it
// asks all of them at the same time, and the first one that is not read-only gets the connections. After a failover
// the next connection asks again.
import pg from 'pg';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { databaseErrorKind, databaseErrorText } from './database-error.ts';

interface DatabaseServer {
  host: string;
  port: number | null;
}

interface ServerList {
  /** The address with the first server only, for the driver. */
  url: string;
  servers: DatabaseServer[];
}

/** sqlclient_unable_to_establish_sqlconnection: a passing error. */
const NOT_CONNECTED = '08001';
const READ_ONLY = '25006';
const MOST_SERVERS = 16;
/** For each server. A machine that is down does not refuse a connection, it never answers. */
const CONNECT_MS = 5000;

/** Null for an address that the driver understands: one server, whatever it is. */
export function readServerList(url: string): ServerList | null {
  const parts = splitAddress(url);
  if (parts === null) return null;
  const inAuthority = parts.servers.split(',');
  const first = `${parts.before}${inAuthority[0]}${parts.after}`;
  if (!URL.canParse(first)) return null;
  const parsed = new URL(first);
  const attributes = parsed.searchParams.get('target_session_attrs');
  const hosts = parsed.searchParams.get('host')?.split(',');
  if (attributes === null && inAuthority.length === 1 && (hosts?.length ?? 1) === 1) return null;
  if (attributes !== null && attributes !== 'read-write' && attributes !== 'primary')
    throw invalid(`target_session_attrs=${attributes} is not supported`, 'Rowmill writes: use read-write.');
  const servers = hosts
    ? withPorts(hosts, parsed.searchParams.get('port')?.split(',') ?? [])
    : inAuthority.map(readServer);
  if (servers.length > MOST_SERVERS || servers.some(({ host }) => host === ''))
    throw invalid(
      'a list of servers is empty or too long',
      `Name 1 to ${MOST_SERVERS}: host1:5432,host2:5432.`,
    );
  for (const name of ['target_session_attrs', 'host', 'port']) parsed.searchParams.delete(name);
  return { url: parsed.href, servers };
}

/** The address for logs and terminals. */
export function withoutPassword(url: string, instead = ''): string {
  const parts = splitAddress(url);
  const at = parts?.before.lastIndexOf('@') ?? -1;
  if (parts === null || at < 0) return url;
  const start = parts.before.indexOf('://') + 3;
  const [user, password] = parts.before.slice(start, at).split(':', 2);
  if (!password) return url;
  const login = instead === '' ? user : `${user}:${instead}`;
  return `${url.slice(0, start)}${login}@${parts.servers}${parts.after}`;
}

/** The class of the driver's clients for this address. Clients of one class share the server that was found. */
export function driverClient(url: string): typeof pg.Client {
  const list = readServerList(url);
  if (list === null) return pg.Client;
  return listClient(list);
}

function listClient(list: ServerList): typeof pg.Client {
  let known: DatabaseServer | null = null;
  return class extends pg.Client {
    readonly #timeoutMs: number;

    constructor(config: pg.ClientConfig = {}) {
      // Half of the time, because a connection may have to find its server first.
      const timeoutMs = Math.min(CONNECT_MS, (config.connectionTimeoutMillis ?? 2 * CONNECT_MS) / 2);
      super({ ...config, connectionString: list.url, connectionTimeoutMillis: timeoutMs });
      this.#timeoutMs = timeoutMs;
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connecting = this.#connectToPrimary();
      if (callback === undefined) return connecting;
      connecting.then(() => (callback as () => void)(), callback);
      return undefined;
    }

    async #connectToPrimary(): Promise<pg.Client> {
      const server = known ?? (await findPrimary(list, this.#timeoutMs));
      try {
        await connectTo(this, server);
        known = server;
        return this;
      } catch (error) {
        known = null;
        throw error;
      }
    }
  };
}

/** Several addresses may be unreachable or read-only: one that accepts writes is enough. */
async function findPrimary({ url, servers }: ServerList, timeoutMs: number): Promise<DatabaseServer> {
  const probes = servers.map(() => {
    const options = { connectionString: url, application_name: 'rowmill probe' };
    return new pg.Client({ ...options, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
  });
  const failures: unknown[] = [];
  try {
    return await Promise.any(
      servers.map((server, index) =>
        connectTo(probes[index]!, server).then(
          () => server,
          (error: unknown) => {
            failures[index] = error;
            throw error;
          },
        ),
      ),
    );
  } catch {
    // A wrong password or database name does not pass.
    const refusal = failures.find((error) => databaseErrorKind(error) !== 'passing');
    if (refusal !== undefined) throw refusal;
    const reasons = servers.map(
      (server, index) => `${nameOf(server)}: ${databaseErrorText(failures[index])}`,
    );
    throw Object.assign(new Error(`no server accepts writes (${reasons.join('; ')})`), {
      code: NOT_CONNECTED,
    });
  } finally {
    for (const probe of probes) destroySocket(probe);
  }
}

/** Throws if the server is read-only, such as a standby. */
async function connectTo(client: pg.Client, { host, port }: DatabaseServer): Promise<void> {
  // An error of a client without a listener would end the process.
  client.on('error', () => {});
  // The driver reads both when it connects.
  Object.assign(client, { host, port: port ?? client.port });
  await (pg.Client.prototype.connect as () => Promise<unknown>).call(client);
  const { rows } = await client.query<{ transaction_read_only: string }>('show transaction_read_only');
  if (rows[0]!.transaction_read_only === 'off') return;
  destroySocket(client);
  throw Object.assign(new Error('the server is read-only'), { code: READ_ONLY });
}

/** For a statement that failed because its server no longer accepts writes. */
export function isReadOnlyError(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === READ_ONLY;
}

/** Not end(), which waits for a server that may not respond. */
export function destroySocket(client: pg.ClientBase): void {
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}

function splitAddress(url: string): { before: string; servers: string; after: string } | null {
  const start = url.indexOf('://') + 3;
  if (start < 3) return null;
  const length = url.slice(start).search(/[/?#]/);
  const end = length < 0 ? url.length : start + length;
  const serversStart = Math.max(start, url.lastIndexOf('@', end - 1) + 1);
  return { before: url.slice(0, serversStart), servers: url.slice(serversStart, end), after: url.slice(end) };
}

function readServer(text: string): DatabaseServer {
  const colon = text.lastIndexOf(':');
  // An IPv6 address is in brackets and has colons of its own.
  if (colon < 0 || text.indexOf(']', colon) >= 0) return { host: withoutBrackets(text), port: null };
  return { host: withoutBrackets(text.slice(0, colon)), port: readPort(text.slice(colon + 1)) };
}

/** One port is for all hosts, as in libpq. */
function withPorts(hosts: string[], ports: string[]): DatabaseServer[] {
  if (ports.length > 1 && ports.length !== hosts.length)
    throw invalid(`${hosts.length} hosts have ${ports.length} ports`, 'Name one port, or one for each host.');
  return hosts.map((host, index) => ({
    host,
    port: ports.length === 0 ? null : readPort(ports[index] ?? ports[0]!),
  }));
}

function readPort(text: string): number | null {
  if (text === '') return null;
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535)
    throw invalid(`${text} is not a port`, 'Use 1 to 65535.');
  return port;
}

function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : decodeURIComponent(host);
}

function nameOf({ host, port }: DatabaseServer): string {
  return port === null ? host : `${host}:${port}`;
}

function invalid(problem: string, hint: string): RowmillError {
  return new RowmillError('SETTINGS_INVALID', `the address of the database is wrong: ${problem}`, { hint });
}
