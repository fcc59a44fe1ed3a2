// What every use case of the engine needs, passed explicitly.
import type { Database } from '../platform/database.ts';
import type { Events } from '../platform/events.ts';
import type { Settings } from '../platform/settings.ts';

export interface EngineContext {
  db: Database;
  events: Events;
  settings: Settings;
}
