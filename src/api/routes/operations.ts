// What runs, what it may use, who shares it; health for machines.
import { operationRoutes } from '../../contract/operations.ts';
import type { Handlers } from '../handler.ts';
import { openApiDocument } from '../openapi.ts';
import { unbuilt } from './unbuilt.ts';

export const operationHandlers: Handlers<typeof operationRoutes> = {
  ...unbuilt(operationRoutes),
  getHealth: async () => ({ ok: true }),
  getOpenApi: async () => openApiDocument() as { openapi: string },
};
