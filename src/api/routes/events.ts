import { eventRoutes } from '../../contract/events.ts';
import type { Handlers } from '../handler.ts';
import { unbuilt } from './unbuilt.ts';

export const eventHandlers: Handlers<typeof eventRoutes> = unbuilt(eventRoutes);
