// What a worker decided by itself, with its reason and numbers, for whoever reads its log. A share moves a little several
// times a second while it grows: it is logged when it has moved by more than a twentieth since the last line.
import type { Events } from '../platform/events.ts';
import type { Logger } from '../platform/logger.ts';

const WORTH_A_LINE = 0.05;
/** Keys whose last share is remembered. */
const MAX_KEYS = 10_000;

export function logDecisions(events: Events, log: Logger): void {
  const logged = new Map<string, number>();
  events.on('resource.decided', (decision) => {
    const { kind, name, key, from, to } = decision;
    if (kind !== 'share' || typeof from !== 'number' || typeof to !== 'number')
      return log.info(decision, 'a resource decision');
    const id = `${name}\t${key}`;
    const last = logged.get(id) ?? from;
    if (!logged.has(id)) {
      if (logged.size >= MAX_KEYS) logged.clear();
      logged.set(id, from);
    }
    if (Math.abs(to - last) <= last * WORTH_A_LINE && !(to === 1 && last < 1)) return;
    logged.set(id, to);
    log.info({ ...decision, from: last }, 'a resource decision');
  });
  events.on('resource.sync_failed', ({ error }) =>
    log.warn({ error: String(error) }, 'permits could not be synced'),
  );
  events.on('pressure.changed', (change) => log.info(change, 'the own side is slow, or no longer'));
  events.on('phase.spike', (change) => log.info(change, 'failures of a phase'));
  events.on('claim.made', (claim) => log.debug(claim, 'a claim'));
}
