// rowmill grant: gives database logins the rights of workers and of the API (docs/accounts.md).
import { API_ROLE, grantRoles, WORKER_ROLE } from '../../store/database-roles.ts';
import { commandSettings, openServer, type ServerOptions, whenServerAnswers } from '../open-server.ts';

export interface GrantOptions extends ServerOptions {
  worker?: string;
  api?: string;
  json?: boolean;
}

export async function grantAccess(options: GrantOptions): Promise<number> {
  const settings = await commandSettings(options);
  const server = await openServer(options, (line) => console.error(line));
  try {
    await whenServerAnswers(() => grantRoles(server.url, options), settings);
    const { worker, api } = options;
    if (options.json) {
      console.log(
        JSON.stringify({ roles: [API_ROLE, WORKER_ROLE], ...(worker && { worker }), ...(api && { api }) }),
      );
      return 0;
    }
    console.log(`The roles ${API_ROLE} and ${WORKER_ROLE} have the rights they need in this database`);
    if (worker !== undefined) console.log(`${worker} has the rights of a worker`);
    if (api !== undefined) console.log(`${api} has the rights of the API`);
    return 0;
  } finally {
    await server.stop();
  }
}
