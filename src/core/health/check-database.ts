// Judges the facts of a database server: each finding says what is wrong and what to do. A `problem` breaks promises of
// Rowmill now; a `warning` costs speed, disk or safety later.
import type {
  ConnectionFacts,
  DiskFacts,
  HeldTransaction,
  IndexFacts,
  ServerFacts,
  SlotFacts,
  TableFacts,
} from './database-facts.ts';

export interface Finding {
  level: 'warning' | 'problem';
  finding: string;
  action: string;
}

export interface DatabaseCheck {
  check: string;
  /** The measured state, in one line. */
  says: string;
  findings: Finding[];
  /** Why it could not be checked; null if it was. */
  unchecked: string | null;
}

const MINUTE_MS = 60_000;
const GIB = 1024 ** 3;
const LISTED = 5;

/** Last months with updates, by major version. */
const END_OF_LIFE: Record<number, string> = { 15: '2027-11', 16: '2028-11', 17: '2029-11', 18: '2030-11' };

export function checkServer({
  version,
  versionNumber,
  now,
  isStandby,
  frozenAge,
}: ServerFacts): DatabaseCheck {
  const findings: Finding[] = [];
  const end = END_OF_LIFE[Math.floor(versionNumber / 10_000)];
  if (end !== undefined && now.toISOString().slice(0, 7) > end)
    findings.push(
      warning(`PostgreSQL ${version} has had no updates since ${end}`, 'Upgrade to a newer major version.'),
    );
  if (isStandby)
    findings.push(
      problem(
        'this server is a standby and takes no changes',
        'Use the address of the primary, or an address with target_session_attrs=read-write.',
      ),
    );
  if (frozenAge > 1_000_000_000)
    findings.push(
      (frozenAge > 1_800_000_000 ? problem : warning)(
        `the oldest row is ${millions(frozenAge)} transactions old; at 2,000 million the server stops taking changes`,
        'End what holds old rows (see transactions and replication), then run VACUUM as the owner of the database.',
      ),
    );
  return check('server', `PostgreSQL ${version}${isStandby ? ', a standby' : ''}`, findings);
}

interface SettingRule {
  isBad: (settings: Record<string, string>) => boolean;
  name: string;
  level: Finding['level'];
  effect: string;
  action: string;
}

const RULES: SettingRule[] = [
  {
    name: 'fsync',
    isBad: ({ fsync }) => fsync === 'off',
    level: 'problem',
    effect: 'a crash can destroy the database',
    action: 'Set fsync = on.',
  },
  {
    name: 'full_page_writes',
    isBad: ({ full_page_writes }) => full_page_writes === 'off',
    level: 'problem',
    effect: 'a crash can destroy pages of the database',
    action: 'Set full_page_writes = on.',
  },
  {
    name: 'autovacuum',
    isBad: ({ autovacuum, track_counts }) => autovacuum === 'off' || track_counts === 'off',
    level: 'problem',
    effect: 'dead rows of the queue are never removed, and claims become slower without end',
    action: 'Set autovacuum = on and track_counts = on.',
  },
  {
    name: 'synchronous_commit',
    isBad: ({ synchronous_commit }) => synchronous_commit === 'off',
    level: 'warning',
    effect: 'a crash of the server undoes the last results, and their rows run and cost again',
    action: 'Set synchronous_commit = on for the logins of Rowmill. Claims already commit without waiting.',
  },
  {
    name: 'synchronous_commit',
    isBad: ({ synchronous_commit, synchronous_standby_names }) =>
      synchronous_commit === 'local' && Boolean(synchronous_standby_names),
    level: 'warning',
    effect: 'commits do not wait for the synchronous standby, so a failover undoes the last results',
    action: 'Set synchronous_commit = on for the logins of Rowmill.',
  },
  {
    name: 'default_transaction_read_only',
    isBad: (settings) => settings.default_transaction_read_only === 'on',
    level: 'problem',
    effect: 'this login changes nothing',
    action: 'Set default_transaction_read_only = off for the logins of Rowmill.',
  },
  {
    name: 'lock_timeout',
    isBad: (settings) => isBetween(settings.lock_timeout, 0, 1000),
    level: 'warning',
    effect: 'flushes and claims that wait for a lock fail and are repeated',
    action: 'Set lock_timeout = 0 for the logins of Rowmill: it has its own limit, databaseDeadlineMs.',
  },
  {
    name: 'transaction_timeout',
    isBad: (settings) => isBetween(settings.transaction_timeout, 0, 60_000),
    level: 'warning',
    effect: 'long flushes and ingest batches are ended and repeated',
    action:
      'Set transaction_timeout = 0 for the logins of Rowmill: it has its own limit, databaseDeadlineMs.',
  },
  {
    name: 'idle_session_timeout',
    isBad: (settings) => isBetween(settings.idle_session_timeout, 0, 60_000),
    level: 'warning',
    effect: 'idle processes lose their connections and connect again, over and over',
    action: 'Set idle_session_timeout = 0 for the logins of Rowmill.',
  },
];

/** Limits that the client itself sets for its sessions are left out: they hide those of the server. */
export function checkSettings({ settings }: Pick<ServerFacts, 'settings'>): DatabaseCheck {
  const findings = RULES.filter(({ isBad }) => isBad(settings)).map(({ name, level, effect, action }) => ({
    level,
    finding: `${name} is ${settings[name]}: ${effect}`,
    action,
  }));
  return check('settings', 'durability, vacuum and timeouts of the server', findings);
}

export interface ConnectionBudget {
  /** Connections that one worker process may open. */
  perWorker: number;
  /** Through a pooler, processes do not occupy connections of the server. */
  isPooled: boolean;
}

export function checkConnections(
  { open, maxConnections, reserved, workersAlive, ofWorkers, hidden }: ConnectionFacts,
  { perWorker, isPooled }: ConnectionBudget,
): DatabaseCheck {
  const findings: Finding[] = [];
  const available = maxConnections - reserved;
  const budget = open - ofWorkers + workersAlive * perWorker;
  const raise =
    'Raise max_connections, run fewer processes, or use a pooler (docs/operating.md, Connections).';
  if (open >= available * 0.9) findings.push(warning(`${open} of ${available} connections are open`, raise));
  else if (!isPooled && budget > available)
    findings.push(
      warning(
        `${workersAlive} worker processes may open ${perWorker} connections each, with others ${budget} of ${available}`,
        raise,
      ),
    );
  if (hidden > 0)
    findings.push(
      warning(
        `this login cannot see the transactions of ${hidden} sessions of other users`,
        'Grant it the role pg_read_all_stats, or run the doctor as the owner of the database.',
      ),
    );
  return check(
    'connections',
    `${open} of ${available} open, ${ofWorkers} by ${workersAlive} worker processes`,
    findings,
  );
}

export function checkTransactions(held: readonly HeldTransaction[]): DatabaseCheck {
  const findings = held
    .filter(({ ageMs }) => ageMs > 10 * MINUTE_MS)
    .slice(0, LISTED)
    .map(({ holder, ageMs, state, endWith }) =>
      warning(
        `${holder} has kept a transaction open for ${minutes(ageMs)} (${state}); rows that died since then cannot be removed`,
        `End it if it is not needed: ${endWith}`,
      ),
    );
  const oldest = held[0];
  return check(
    'transactions',
    oldest === undefined ? 'none open' : `the oldest is ${minutes(oldest.ageMs)} old`,
    findings,
  );
}

export function checkReplication(slots: readonly SlotFacts[]): DatabaseCheck {
  const findings = slots.flatMap(({ name, active, retainedBytes, walStatus, holdsRows }): Finding[] => {
    const keeps = retainedBytes === null ? 'WAL' : `${bytesText(retainedBytes)} of WAL`;
    if (walStatus === 'lost' || walStatus === 'unreserved')
      return [
        warning(
          `the replication slot ${name} is ${walStatus}: its consumer can no longer continue`,
          `Rebuild the consumer, and drop the slot: select pg_drop_replication_slot('${name}')`,
        ),
      ];
    if (active && (retainedBytes ?? 0) < 10 * GIB) return [];
    return [
      warning(
        `the replication slot ${name} is ${active ? 'slow' : 'not in use'} and keeps ${keeps}${holdsRows ? ' and all rows that died since' : ''}`,
        `Start or speed up its consumer, or drop the slot: select pg_drop_replication_slot('${name}')`,
      ),
    ];
  });
  return check('replication', `${slots.length} replication slots`, findings.slice(0, LISTED));
}

export function checkTables(tables: readonly TableFacts[]): DatabaseCheck {
  const findings = tables.flatMap(
    ({ name, liveRows, deadRows, heapBytes, lastVacuum, isAnalyzed, autovacuumOff }) => {
      const found: Finding[] = [];
      const vacuumed = lastVacuum === null ? 'never' : lastVacuum.toISOString();
      if (autovacuumOff)
        found.push(
          problem(
            `autovacuum is off for the table ${name}`,
            `alter table ${name} reset (autovacuum_enabled)`,
          ),
        );
      if (deadRows > 100_000 && deadRows > liveRows / 2)
        found.push(
          warning(
            `the table ${name} has ${deadRows} dead rows beside ${liveRows} (last vacuum: ${vacuumed})`,
            `End what holds old rows (see transactions and replication), then: vacuum (analyze) ${name}`,
          ),
        );
      // A row takes at most a page of 8 kB, so a table with more than four pages per row is mostly empty.
      else if (heapBytes > 64 * 1024 ** 2 && heapBytes > (liveRows + deadRows) * 32_768)
        found.push(
          warning(
            `the table ${name} takes ${bytesText(heapBytes)} for ${liveRows} rows`,
            `Stop the workers, then: vacuum full ${name} (it locks the table)`,
          ),
        );
      if (!isAnalyzed && liveRows > 100_000)
        found.push(warning(`the table ${name} was never analyzed, so plans are guesses`, `analyze ${name}`));
      return found;
    },
  );
  return check('tables', 'dead rows, bloat and statistics', findings.slice(0, 4 * LISTED));
}

export function checkIndexes({ missing, invalid }: IndexFacts): DatabaseCheck {
  const findings = [
    ...missing.map((name) =>
      problem(
        `the index ${name} is missing`,
        `Create it as in the newest file of migrations/ that names it. Statements that need it read whole tables.`,
      ),
    ),
    ...invalid.map((name) =>
      problem(`the index ${name} is invalid and not used`, `reindex index concurrently ${name}`),
    ),
  ];
  return check('indexes', 'indexes of the migrations exist and are valid', findings);
}

export function checkSize(
  tables: readonly TableFacts[],
  databaseBytes: number,
  disks: readonly DiskFacts[],
): DatabaseCheck {
  const largest = [...tables].sort((a, b) => b.totalBytes - a.totalBytes).slice(0, 3);
  const findings = disks
    .filter(({ freeBytes, totalBytes }) => freeBytes < totalBytes * 0.05 || freeBytes < GIB)
    .map(({ folder, freeBytes, totalBytes }) =>
      warning(
        `the disk of ${folder} has ${bytesText(freeBytes)} free of ${bytesText(totalBytes)}`,
        'Delete finished jobs, or enlarge the disk. PostgreSQL stops when it is full.',
      ),
    );
  const names = largest.map(({ name, totalBytes }) => `${name} ${bytesText(totalBytes)}`);
  return check('size', `${bytesText(databaseBytes)}; largest tables: ${names.join(', ')}`, findings);
}

function check(name: string, says: string, findings: Finding[]): DatabaseCheck {
  return { check: name, says, findings, unchecked: null };
}

function warning(finding: string, action: string): Finding {
  return { level: 'warning', finding, action };
}

function problem(finding: string, action: string): Finding {
  return { level: 'problem', finding, action };
}

/** True for a time in milliseconds above `low` and below `high`; 0 switches a limit of PostgreSQL off. */
function isBetween(value: string | undefined, low: number, high: number): boolean {
  const ms = Number(value ?? 0);
  return ms > low && ms < high;
}

function millions(count: number): string {
  return `${Math.round(count / 1_000_000).toLocaleString('en')} million`;
}

function minutes(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.round(ms / 1000)} s`;
  return ms < 120 * MINUTE_MS ? `${Math.round(ms / MINUTE_MS)} min` : `${Math.round(ms / 3_600_000)} h`;
}

export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(bytes) / Math.log(1024)));
  const value = bytes / 1024 ** step;
  return `${value >= 10 || step === 0 ? Math.round(value) : value.toFixed(1)} ${units[step]}`;
}
