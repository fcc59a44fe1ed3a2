// The complete route table.
import { accountRoutes } from './accounts.ts';
import { controlRoutes } from './control.ts';
import { counterRoutes } from './counters.ts';
import { errorRoutes } from './error-groups.ts';
import { eventRoutes } from './events.ts';
import { fileRoutes } from './files.ts';
import { itemRoutes } from './items.ts';
import { jobRoutes } from './jobs.ts';
import { operationRoutes } from './operations.ts';
import { runRoutes } from './runs.ts';
import { traceRoutes } from './traces.ts';
import { overviewRoutes } from './overview.ts';
import { uploadRoutes } from './uploads.ts';
import { webhookRoutes } from './webhooks.ts';

export const ROUTES = {
  ...jobRoutes,
  ...controlRoutes,
  ...itemRoutes,
  ...traceRoutes,
  ...errorRoutes,
  ...runRoutes,
  ...fileRoutes,
  ...operationRoutes,
  ...overviewRoutes,
  ...eventRoutes,
  ...accountRoutes,
  ...webhookRoutes,
  ...uploadRoutes,
  ...counterRoutes,
};

export type Routes = typeof ROUTES;
export type RouteName = keyof Routes;
