// Handlers of all routes.
import type { Routes } from '../../contract/routes.ts';
import type { Handlers } from '../requests/handler.ts';
import { accountHandlers } from './accounts.ts';
import { controlHandlers } from './control.ts';
import { counterHandlers } from './counters.ts';
import { eventHandlers } from './events.ts';
import { fileHandlers } from './files.ts';
import { itemHandlers } from './items.ts';
import { jobHandlers } from './jobs.ts';
import { operationHandlers } from './operations.ts';
import { overviewHandlers } from './overview.ts';
import { uploadHandlers } from './uploads.ts';
import { webhookHandlers } from './webhooks.ts';

export const HANDLERS: Handlers<Routes> = {
  ...jobHandlers,
  ...controlHandlers,
  ...itemHandlers,
  ...fileHandlers,
  ...operationHandlers,
  ...overviewHandlers,
  ...eventHandlers,
  ...accountHandlers,
  ...webhookHandlers,
  ...uploadHandlers,
  ...counterHandlers,
};
