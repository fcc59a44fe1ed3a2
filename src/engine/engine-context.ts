// Dependencies of every use case of the engine, passed explicitly.
import type { BlobStore } from '../platform/blob-store/blob-store.ts';
import type { Database } from '../platform/database.ts';
import type { Events } from '../platform/events.ts';
import type { Settings } from '../platform/settings.ts';

export interface AuditCaller {
  actor: string;
  requestId: string | null;
  address: string | null;
}

export interface EngineContext {
  db: Database;
  /** Uploaded files and output files. */
  blobs: BlobStore;
  events: Events;
  settings: Settings;
  /** The caller, for the audit log. Default: the library. */
  by?: AuditCaller;
}
