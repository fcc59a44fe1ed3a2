// All routes of a Fastify instance, read from its own router.
import type { FastifyInstance } from 'fastify';

const LINE = /^((?:│ {3}| {4})*)[├└]── (.*?)(?: \(([A-Z, ]+)\))?$/;

/** As `METHOD /path`, without HEAD and OPTIONS, which accompany other methods. */
export function registeredRoutes(server: FastifyInstance): string[] {
  const branch: string[] = [];
  const routes: string[] = [];
  for (const line of server.printRoutes().split('\n')) {
    if (line.trim() === '') continue;
    const [, indent, part, methods = ''] = LINE.exec(line) ?? [];
    if (indent === undefined || part === undefined) throw new Error(`not a line of a route tree: ${line}`);
    branch.length = indent.length / 4;
    branch.push(part);
    for (const method of methods.split(', '))
      if (method !== '' && method !== 'HEAD' && method !== 'OPTIONS')
        routes.push(`${method} ${branch.join('')}`);
  }
  return routes.sort();
}
