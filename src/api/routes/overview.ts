// The overview, and usage by day, owner and pipeline.
import type { overviewRoutes } from '../../contract/overview.ts';
import { getOverview } from '../operations/get-overview.ts';
import { getUsage } from '../operations/get-usage.ts';
import type { Handlers } from '../requests/handler.ts';

export const overviewHandlers: Handlers<typeof overviewRoutes> = { getOverview, getUsage };
