// Sends due webhooks and callbacks as a separate process, for tests that kill it. The only argument is a JSON text.
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { Database } from '../../src/platform/database.ts';
import { Events } from '../../src/platform/events.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import { tellWhatIsDue } from './tell-what-is-due.ts';

const { databaseUrl, callbackUrl, flags } = JSON.parse(process.argv[2]!) as {
  databaseUrl: string;
  callbackUrl: string;
  flags?: Record<string, unknown>;
};
const db = new Database({ url: databaseUrl, maxConnections: 4, applicationName: 'told', deadlineMs: 60_000 });
const allowed = { webhookAllow: '127.0.0.1', secretKey: 'none' };
const settings = loadSettings({ flags: { ...allowed, ...flags }, environment: {} });
await tellWhatIsDue({ db, events: new Events(), settings } as EngineContext, callbackUrl);
await db.close();
