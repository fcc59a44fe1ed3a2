// Finds out who sends a request.
import type { FastifyRequest } from 'fastify';
import { type Actor, LOCAL_ACTOR } from './actor.ts';
import type { ApiContext } from './api-context.ts';

export async function authenticate(_request: FastifyRequest, context: ApiContext): Promise<Actor | null> {
  if (context.engine.settings.authentication === 'none') return LOCAL_ACTOR;
  return null;
}
