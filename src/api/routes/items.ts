import { itemRoutes } from '../../contract/items.ts';
import type { Handlers } from '../handler.ts';
import { unbuilt } from './unbuilt.ts';

export const itemHandlers: Handlers<typeof itemRoutes> = unbuilt(itemRoutes);
