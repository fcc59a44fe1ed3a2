// rowmill migrate: updates the database schema to this version.
import { migrate } from '../../store/migrate.ts';
import { commandSettings, openServer, type ServerOptions, whenServerAnswers } from '../open-server.ts';

export async function migrateDatabase(options: ServerOptions & { json?: boolean }): Promise<number> {
  const settings = await commandSettings(options);
  const server = await openServer(options, (line) => console.error(line));
  try {
    const report = await whenServerAnswers(() => migrate(server.url, { onLocked: sayLocked }), settings);
    if (options.json) console.log(JSON.stringify(report));
    else if (report.applied.length === 0)
      console.log(`Nothing to do: the database is at version ${report.version}`);
    else for (const name of report.applied) console.log(`Applied ${name}`);
    return 0;
  } finally {
    await server.stop();
  }
}

function sayLocked(name: string): void {
  console.error(`${name} waits until no other transaction uses its tables, trying again`);
}
