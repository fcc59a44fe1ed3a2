// Opens the database and a Rowmill on it for the duration of a command.
import { openRowmill, type Rowmill } from '../open-rowmill.ts';
import {
  commandSettings,
  type OpenedServer,
  openServer,
  type ServerOptions,
  sayDatabaseWait,
} from './open-server.ts';

export interface FrameOptions {
  /** Creates the embedded PostgreSQL if there is none. Default: that is an error. */
  create?: boolean;
  /** Receives what the embedded server logs while it starts. Default: nothing is logged. */
  say?: (line: string) => void;
}

export async function withRowmill<Result>(
  options: ServerOptions,
  work: (rowmill: Rowmill, server: OpenedServer) => Promise<Result>,
  { say = () => {}, create = false }: FrameOptions = {},
): Promise<Result> {
  const settings = await commandSettings(options);
  const server = await openServer(options, say, { create });
  try {
    const rowmill = await openRowmill({ databaseUrl: server.url, settings, onDatabaseWait: sayDatabaseWait });
    try {
      return await work(rowmill, server);
    } finally {
      await rowmill.close();
    }
  } finally {
    await server.stop();
  }
}
