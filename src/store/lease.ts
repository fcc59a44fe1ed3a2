// The one shape of a lease: a token that fences its holder, the time from which another process may take it and, if
// known, the worker that holds it. Builds SQL fragments. Each statement names the token of the lease it changes, and
// its row count shows whether that token is still current. An expired lease that has not been taken over is still
// valid.

interface Lease {
  /** Sets a new holder. Arguments are parameters of the statement, such as "$2". */
  take(token: string, ms: string, workerId?: string): string;
  renew(ms: string): string;
  release: string;
  /** Releases the lease, and keeps it from being taken for this time. */
  postpone(ms: string): string;
  /** A condition, with the table's alias if the statement has several tables. */
  isFree(alias?: string): string;
}

/** The time this many milliseconds from now, by the database clock. */
export const fromNow = (ms: string): string => `now() + ${ms}::float8 * interval '1 millisecond'`;

/**
 * With a name, columns are called `name_token` and so on. Rows with several leases or another `expires_at` need one.
 */
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
/** `source_files`: the process creates a job from the file. */
export const SOURCE_FILE_LEASE = leaseColumns();
/** `deliveries`: the server sends the message. */
export const DELIVERY_LEASE = leaseColumns();
/** `callbacks`: the worker calls the function. */
export const CALLBACK_LEASE = leaseColumns();
