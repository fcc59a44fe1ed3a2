import { controlRoutes } from '../../contract/control.ts';
import type { Handlers } from '../handler.ts';
import { unbuilt } from './unbuilt.ts';

export const controlHandlers: Handlers<typeof controlRoutes> = unbuilt(controlRoutes);
