import type { Database, Statement } from '../../../platform/database.ts';

const HAS_UNNUMBERED: Statement = {
  name: 'has-unnumbered-events',
  text: 'select 1 from job_events where position is null limit 1',
};

// A separate statement: the next one takes its snapshot while this lock is held, and so sees the positions that the
// previous numbering committed. Held until commit, so positions become visible in order.
const LOCK_NUMBERING: Statement = {
  name: 'lock-event-numbering',
  text: `select pg_advisory_xact_lock(hashtextextended('rowmill event numbering', 0))`,
};

// Index: job_events_unnumbered.
const NUMBER_EVENTS: Statement = {
  name: 'number-job-events',
  text: `
    with waiting as (
      select event_id, row_number() over (order by event_id) as n
      from (select event_id from job_events where position is null order by event_id limit $1) w
    ),
    counter as (
      update event_positions set last = last + (select count(*) from waiting) returning last
    )
    update job_events e
    set position = c.last - (select count(*) from waiting) + w.n
    from waiting w, counter c
    where e.event_id = w.event_id`,
};

const AT_ONCE = 5000;

/** Gives positions to committed events. Returns their number. */
export async function numberJobEvents(db: Database): Promise<number> {
  if ((await db.run(HAS_UNNUMBERED)).rowCount === 0) return 0;
  let numbered = 0;
  for (;;) {
    const count = await db.transaction(async (tx) => {
      await tx.run(LOCK_NUMBERING);
      return (await tx.run(NUMBER_EVENTS, [AT_ONCE])).rowCount ?? 0;
    });
    numbered += count;
    if (count < AT_ONCE) return numbered;
  }
}
