// Event streams: checks the permission of the caller at the start and for as long as the stream is open.
import type { eventRoutes } from '../../contract/events.ts';
import type { Route } from '../../contract/route.ts';
import { readVisibleJob } from '../../store/views/jobs/read-job.ts';
import type { EventScope } from '../../store/views/events/read-job-events.ts';
import { type Actor, checkAllowed, listedFor, seenBy } from '../requests/actor.ts';
import type { ApiContext } from '../api-context.ts';
import { authenticate } from '../requests/authenticate.ts';
import type { ApiRequest, Handlers } from '../requests/handler.ts';

export const eventHandlers: Handlers<typeof eventRoutes> = {
  async streamEvents(request, context) {
    const { all } = request.query;
    const scope = { owners: listedFor(request.actor, all) };
    const stillMay = async (actor: Actor): Promise<boolean> =>
      sameOwners(listedFor(actor, all), scope.owners);
    await sendStream(request, context, scope, stillMay);
    return undefined;
  },

  async streamJobEvents(request, context) {
    const { jobId } = request.job;
    const stillMay = async (actor: Actor): Promise<boolean> =>
      (await readVisibleJob(context.engine.db, jobId, seenBy(actor))) !== null;
    await sendStream(request, context, { jobId }, stillMay);
    return undefined;
  },
};

async function sendStream(
  { raw, reply, actor, query, signal }: ApiRequest<Route>,
  context: ApiContext,
  scope: EventScope,
  stillMay: (actor: Actor) => Promise<boolean>,
): Promise<void> {
  const given = lastEventIdOf(raw.headers['last-event-id']);
  const stream = await context.streams.listen({
    caller: actor!.userId,
    scope,
    lastEventId: given ?? (query as { lastEventId?: number }).lastEventId,
    // The session or key may have expired, and the role or team may have changed.
    mayListen: async () => {
      const now = await authenticate(raw, context);
      checkAllowed(now, { access: 'viewer', scope: 'read' });
      return now?.userId === actor!.userId && now.role === actor!.role && stillMay(now);
    },
  });
  if (signal.aborted) stream.end();
  void reply
    .header('content-type', 'text/event-stream; charset=utf-8')
    .header('cache-control', 'no-store, no-transform')
    // Keeps proxies such as nginx from buffering events.
    .header('x-accel-buffering', 'no')
    .send(stream.output);
}

function lastEventIdOf(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

function sameOwners(a: readonly string[] | null, b: readonly string[] | null): boolean {
  return a === null || b === null ? a === b : a.length === b.length && a.every((owner) => b.includes(owner));
}
