// Public functions whose code is loaded when they are called. A module that defines a pipeline imports rowmill as well,
// and must not load the database code for that.
import type { Rowmill, RowmillOptions } from './open-rowmill.ts';
import type {
  EmbeddedPostgres,
  EmbeddedPostgresOptions,
} from './platform/embedded-postgres/start-embedded-postgres.ts';

/** Connects to a database, which it migrates first if needed. Call `close` at the end. */
export async function openRowmillOnDemand(options: RowmillOptions): Promise<Rowmill> {
  const library = await import('./open-rowmill.ts');
  return library.openRowmill(options);
}

/** Starts the PostgreSQL that Rowmill includes, on a data folder. Call `stop` at the end. */
export async function startPostgresOnDemand(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const server = await import('./platform/embedded-postgres/start-embedded-postgres.ts');
  return server.startEmbeddedPostgres(options);
}
