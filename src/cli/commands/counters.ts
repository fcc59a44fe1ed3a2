// rowmill counters: shows the counters of a database with their totals, and compares them with their contributions
// (docs/counters.md).
import {
  type CheckCountersOptions,
  type CounterCheck,
  checkCounters,
} from '../../engine/counters/check-counters.ts';
import { counterTotals } from '../../store/views/counters/counter-totals.ts';
import { contextOf } from '../../open-rowmill.ts';
import { listCounters } from '../../store/views/counters/find-counter.ts';
import { currentAccount } from '../current-account.ts';
import { EXIT } from '../exit-codes.ts';
import type { ServerOptions } from '../open-server.ts';
import { formatCount, printable } from '../progress-lines.ts';
import { textTable } from '../text-table.ts';
import { withRowmill } from '../with-rowmill.ts';

interface ListOptions extends ServerOptions {
  json?: boolean;
}

export interface CheckOptions extends ListOptions {
  repair?: boolean;
  budgetMs?: number;
}

export async function showCounters(options: ListOptions): Promise<number> {
  return withRowmill(options, async (rowmill) => {
    const { db } = contextOf(rowmill);
    const totals = new Map((await counterTotals(db, null)).map((total) => [total.counterId, total]));
    const counters = (await listCounters(db)).map(({ counterId, createdAt, measures, ...counter }) => {
      const { measured = [], updatedAt = null } = totals.get(counterId) ?? {};
      const total = Object.fromEntries(measures.map((measure, at) => [measure, measured[at] ?? 0]));
      return { ...counter, total, updatedAt, createdAt };
    });
    if (options.json) console.log(JSON.stringify(counters));
    else if (counters.length === 0) console.log('No worker has registered a counter');
    else {
      const rows = counters.map(({ name, scope, entity, total }) => [
        name,
        scope,
        entity,
        Object.entries(total)
          .map(([measure, number]) => `${measure} ${formatCount(number)}`)
          .join(', '),
      ]);
      console.log(textTable(['Counter', 'Scope', 'Entity', 'Total'], rows).join('\n'));
    }
    return EXIT.ok;
  });
}

/** Exits with 0 only if everything was compared, nothing is lost, and nothing has drifted or all drift was repaired. */
export async function checkCountersOf(counter: string | undefined, options: CheckOptions): Promise<number> {
  return withRowmill(options, async (rowmill) => {
    const context = contextOf(rowmill);
    const by = { actor: currentAccount(), requestId: null, address: null };
    const asked: CheckCountersOptions = {
      repair: options.repair === true,
      ...(counter !== undefined && { counter }),
      ...(options.budgetMs !== undefined && { budgetMs: options.budgetMs }),
    };
    const check = await checkCounters({ ...context, by }, asked);
    const isRight = check.drifted.length === 0 || asked.repair === true;
    const ok = check.complete && isRight && check.lost.length === 0;
    if (options.json) console.log(JSON.stringify({ ok, ...check }));
    else for (const line of checkLines(check, asked.repair === true)) console.log(line);
    return ok ? EXIT.ok : EXIT.error;
  });
}

function checkLines(
  { checked, drifted, lost, unlisted, repaired, complete }: CounterCheck,
  repair: boolean,
): string[] {
  const lines = drifted.map(({ counter, ownerId, scope, entity, measures }) => {
    const key = [scope, entity].filter((part) => part !== null).map(printable);
    const numbers = Object.entries(measures)
      .map(([measure, { stored, recounted }]) => `${measure} is ${stored}, should be ${recounted}`)
      .join('; ');
    return `DRIFT    ${counter} of ${printable(ownerId)}, ${key.join(' / ')}: ${numbers}`;
  });
  if (unlisted > 0) lines.push(`         and ${formatCount(unlisted)} more`);
  for (const { jobId, contributions, items } of lost)
    lines.push(
      `LOST     job ${jobId}: ${formatCount(contributions)} contributions of ${formatCount(items)} rows belong to deleted entries (rerun the rows to count them again)`,
    );
  const { entries, entities, scopes } = checked;
  lines.push(
    `${complete ? 'Compared' : 'UNKNOWN '} ${formatCount(entries)} entries, ${formatCount(entities)} entities, ${formatCount(scopes)} scopes${complete ? '' : ': the time limit was reached (raise --budget-ms)'}`,
  );
  if (repair) lines.push(`Repaired ${formatCount(repaired)}`);
  return lines;
}
