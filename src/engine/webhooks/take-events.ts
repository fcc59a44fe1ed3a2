// Creates a delivery of every event for every webhook that subscribes to it: exactly once, for any number of
// processes and tries. Only committed events have a position, so no event is sent before it is true.

import {
  eventsToTell,
  hasUntakenEvents,
  insertDeliveries,
  lockIntake,
} from '../../store/commands/events/take-events.ts';
import type { EngineContext } from '../engine-context.ts';
import { numberEvents } from '../jobs/record-change.ts';
import { bodyOf } from './message-body.ts';

const AT_ONCE = 500;

/** Returns the number of created deliveries. */
export async function takeEvents(context: EngineContext): Promise<number> {
  const { db, settings } = context;
  await numberEvents(context);
  if (!(await hasUntakenEvents(db))) return 0;
  let made = 0;
  for (;;) {
    const step = await db.transaction(async (tx) => {
      const taken = await lockIntake(tx);
      const events = taken === null ? [] : await eventsToTell(tx, taken, AT_ONCE);
      const last = events.at(-1);
      if (!last) return null;
      const wanted = events.flatMap((event) =>
        event.webhook === null
          ? []
          : { ...event, ...event.webhook, body: bodyOf(event, event.webhook.format, settings) },
      );
      return insertDeliveries(tx, wanted, last.position);
    });
    if (step === null) return made;
    made += step;
  }
}
