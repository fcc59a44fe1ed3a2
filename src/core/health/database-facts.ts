// Numbers that `rowmill doctor` reads from the database server, before any judgement.

export interface ServerFacts {
  /** server_version_num, such as 180004. */
  versionNumber: number;
  version: string;
  /** The database's clock. */
  now: Date;
  isStandby: boolean;
  /** Age of the oldest transaction id in the database, in transactions. */
  frozenAge: number;
  settings: Record<string, string>;
}

export interface ConnectionFacts {
  /** Client sessions on the server, over all databases. */
  open: number;
  maxConnections: number;
  /** Connections that only superusers and members of pg_use_reserved_connections may open. */
  reserved: number;
  workersAlive: number;
  /** Client sessions of workers among `open`. */
  ofWorkers: number;
  /** Sessions of other users whose transactions this login cannot see. */
  hidden: number;
}

export interface HeldTransaction {
  /** "session 4711 of psql", "the prepared transaction …". */
  holder: string;
  ageMs: number;
  state: string;
  /** Statement that ends it. */
  endWith: string;
}

export interface SlotFacts {
  name: string;
  active: boolean;
  retainedBytes: number | null;
  walStatus: string | null;
  holdsRows: boolean;
}

export interface TableFacts {
  name: string;
  heapBytes: number;
  totalBytes: number;
  liveRows: number;
  deadRows: number;
  lastVacuum: Date | null;
  isAnalyzed: boolean;
  autovacuumOff: boolean;
}

export interface IndexFacts {
  missing: string[];
  invalid: string[];
}

export interface DiskFacts {
  folder: string;
  freeBytes: number;
  totalBytes: number;
}
