// rowmill grant: logins of the database for workers and for the API (docs/accounts.md).
import { API_ROLE, grantRoles, WORKER_ROLE } from '../../store/database-roles.ts';
import { commandSettings, openServer, type ServerOptions, whenServerAnswers } from '../open-server.ts';

export interface GrantOptions extends ServerOptions {
  worker?: string;
  api?: string;
}

export async function grantAccess(options: GrantOptions): Promise<number> {
  const server = await openServer(options, (line) => console.error(line));
  try {
    await whenServerAnswers(() => grantRoles(server.url, options), commandSettings(options));
    console.log(`the roles ${API_ROLE} and ${WORKER_ROLE} have what they need in this database`);
    if (options.worker !== undefined) console.log(`${options.worker} may do what workers do`);
    if (options.api !== undefined) console.log(`${options.api} may do what the API does`);
    return 0;
  } finally {
    await server.stop();
  }
}
