// Checks the server below the tables: settings, connections, old transactions, replication, vacuum, indexes, sizes.
// Each check reads statistics only, changes nothing, and is bounded by the deadline of the connection.
import {
  checkConnections,
  checkIndexes,
  checkReplication,
  checkServer,
  checkSettings,
  checkSize,
  checkTables,
  checkTransactions,
  type DatabaseCheck,
} from '../../core/health/check-database.ts';
import type { Database } from '../../platform/database.ts';
import { readDiskSpace } from '../../platform/disk-space.ts';
import type { Settings } from '../../platform/settings.ts';
import {
  listHeldTransactions,
  listSlots,
  listTables,
  readConnections,
  readDatabaseSize,
  readIndexFacts,
  readServerFacts,
} from '../../store/views/health/read-database-facts.ts';

/** Connections of a worker process besides those that claim and flush. */
const OTHER_CONNECTIONS = 4;

export interface DiagnoseDatabaseOptions {
  settings: Settings;
  /** Folders whose disks are checked: those of the embedded server and of the blob store. */
  folders: readonly string[];
}

export async function diagnoseDatabase(
  db: Database,
  { settings, folders }: DiagnoseDatabaseOptions,
): Promise<DatabaseCheck[]> {
  const { heartbeatMs, claimConcurrency, flushConcurrency } = settings;
  const perWorker = claimConcurrency + flushConcurrency + OTHER_CONNECTIONS;
  const checks: [name: string, run: () => Promise<DatabaseCheck>][] = [
    ['server', async () => checkServer(await readServerFacts(db))],
    ['settings', async () => checkSettings(await readServerFacts(db))],
    [
      'connections',
      async () =>
        checkConnections(await readConnections(db, 3 * heartbeatMs), { perWorker, isPooled: db.isPooled }),
    ],
    ['transactions', async () => checkTransactions(await listHeldTransactions(db))],
    ['replication', async () => checkReplication(await listSlots(db))],
    ['indexes', async () => checkIndexes(await readIndexFacts(db))],
    ['tables', async () => checkTables(await listTables(db))],
    [
      'size',
      async () => {
        const disks = await Promise.all(folders.map(readDiskSpace));
        return checkSize(
          await listTables(db),
          await readDatabaseSize(db),
          disks.filter((disk) => disk !== null),
        );
      },
    ],
  ];
  const reports: DatabaseCheck[] = [];
  for (const [check, run] of checks) {
    // A managed server may refuse one view to this login; the other checks still help.
    reports.push(
      await run().catch((error: Error) => ({
        check,
        says: 'not read',
        findings: [],
        unchecked: error.message,
      })),
    );
  }
  return reports;
}
