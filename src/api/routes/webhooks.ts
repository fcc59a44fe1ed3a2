import { webhookRoutes } from '../../contract/webhooks.ts';
import type { Handlers } from '../handler.ts';
import { unbuilt } from './unbuilt.ts';

export const webhookHandlers: Handlers<typeof webhookRoutes> = unbuilt(webhookRoutes);
