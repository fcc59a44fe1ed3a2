// The one shape of a lease: a token that fences its holder, the time from which another process may take it, and where it is
// known the worker that holds it. Builds fragments of statements. Each statement names the token of the lease that it changes,
// and its row count says whether that is still the current one; a lease that expired and was not taken is still good.

interface Lease {
  /** Sets a new holder. Arguments are parameters of the statement, such as "$2". */
  take(token: string, ms: string, workerId?: string): string;
  renew(ms: string): string;
  release: string;
  /** Releases it, and keeps everybody from taking it for so long. */
  postpone(ms: string): string;
  /** A condition; with the alias of the table where a statement has several. */
  isFree(alias?: string): string;
}

/** A time that many milliseconds from now, by the clock of the database. */
export const fromNow = (ms: string): string => `now() + ${ms}::float8 * interval '1 millisecond'`;

/** `name_token` and so on with a name; the name is for rows that have several leases, or another `expires_at`. */
function leaseColumns({ name, hasWorker = false }: { name?: string; hasWorker?: boolean } = {}): Lease {
  const column = (suffix: string): string => (name === undefined ? suffix : `${name}_${suffix}`);
  const token = column('token');
  const expiresAt = column('expires_at');
  const setWorker = (workerId: string): string => (hasWorker ? `${column('worker_id')} = ${workerId}, ` : '');
  return {
    take: (value, ms, workerId = 'null') =>
      `${setWorker(workerId)}${token} = ${value}, ${expiresAt} = ${fromNow(ms)}`,
    renew: (ms) => `${expiresAt} = ${fromNow(ms)}`,
    release: `${setWorker('null')}${token} = null, ${expiresAt} = null`,
    postpone: (ms) => `${setWorker('null')}${token} = null, ${expiresAt} = ${fromNow(ms)}`,
    isFree: (alias) => {
      const time = alias === undefined ? expiresAt : `${alias}.${expiresAt}`;
      return `(${time} is null or ${time} <= now())`;
    },
  };
}

/** `spans`: the worker runs the items. */
export const SPAN_LEASE = leaseColumns({ hasWorker: true });
/** `jobs`: the worker writes the output files and the summary. */
export const FINALIZE_LEASE = leaseColumns({ name: 'finalize', hasWorker: true });
/** `jobs`: the process reads the file. */
export const INGEST_LEASE = leaseColumns({ name: 'ingest' });
/** `exports`: the process writes the file, which is deleted at `expires_at`. */
export const PREPARE_LEASE = leaseColumns({ name: 'prepare' });
/** `source_files`: the process makes a job of the file. */
export const SOURCE_FILE_LEASE = leaseColumns();
/** `deliveries`: the server sends the message. */
export const DELIVERY_LEASE = leaseColumns();
/** `callbacks`: the worker calls the function. */
export const CALLBACK_LEASE = leaseColumns();
