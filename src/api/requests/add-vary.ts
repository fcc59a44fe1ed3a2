import type { FastifyReply } from 'fastify';

/** Adds a header of requests to those that the answer depends on. */
export function addVary(reply: FastifyReply, name: string): void {
  const before = reply.getHeader('vary');
  void reply.header('vary', before === undefined ? name : `${String(before)}, ${name}`);
}
