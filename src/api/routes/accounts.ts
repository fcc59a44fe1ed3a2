import { accountRoutes } from '../../contract/accounts.ts';
import type { Handlers } from '../handler.ts';
import { unbuilt } from './unbuilt.ts';

export const accountHandlers: Handlers<typeof accountRoutes> = unbuilt(accountRoutes);
