// A database whose statements are asked again when they fail for a passing reason. For reads outside of transactions:
// a restart of the server, or a connection that is ended, costs a wait and not the whole of a long reading.
import type { Executor } from './database.ts';
import { retryPassing } from './retry-passing.ts';

export function retryingReads(db: Executor, signal?: AbortSignal): Executor {
  const options = signal === undefined ? {} : { signal };
  return {
    run: (statement, values) => retryPassing(() => db.run(statement, values), options),
    runArrays: (statement, values) => retryPassing(() => db.runArrays(statement, values), options),
  };
}
