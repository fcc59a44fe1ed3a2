import { fileRoutes } from '../../contract/files.ts';
import type { Handlers } from '../handler.ts';
import { unbuilt } from './unbuilt.ts';

export const fileHandlers: Handlers<typeof fileRoutes> = unbuilt(fileRoutes);
