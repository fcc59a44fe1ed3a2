// rowmill audit: the log of who changed what.
import { contextOf } from '../../open-rowmill.ts';
import { listAudit } from '../../store/views/jobs/list-audit.ts';
import type { ServerOptions } from '../open-server.ts';
import { printable } from '../progress-lines.ts';
import { withRowmill } from '../with-rowmill.ts';

interface AuditOptions extends ServerOptions {
  json?: boolean;
  limit?: number;
}

export async function showAudit(subject: string | undefined, options: AuditOptions): Promise<number> {
  return withRowmill(options, async (rowmill) => {
    const entries = await listAudit(contextOf(rowmill).db, subject ?? null, options.limit ?? 50);
    if (options.json) console.log(JSON.stringify(entries));
    else if (entries.length === 0) console.log('No manual changes');
    else
      for (const { at, actor, action, subject: changed, detail } of entries)
        console.log(
          `${at.toISOString()}  ${printable(actor)}  ${action}  ${printable(changed)}  ${printable(JSON.stringify(detail))}`,
        );
    return 0;
  });
}
