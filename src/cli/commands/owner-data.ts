// rowmill owners export and delete: everything that belongs to one owner (docs/operating.md#retention).
import { existsSync, readdirSync } from 'node:fs';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { deleteOwner } from '../../engine/owners/delete-owner.ts';
import { exportOwner } from '../../engine/owners/export-owner.ts';
import { contextOf, type Rowmill } from '../../open-rowmill.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { listOwnerJobs } from '../../store/views/owners/owner-data.ts';
import { confirm, type ConfirmOptions } from '../confirm.ts';
import { currentAccount } from '../current-account.ts';
import { rows } from '../describe-stop.ts';
import type { ServerOptions } from '../open-server.ts';
import { formatCount, printable } from '../progress-lines.ts';
import { withRowmill } from '../with-rowmill.ts';
import { writingTo } from '../writing-to.ts';

const MOST_COUNTED = 1_000_000;

interface OwnerExportOptions extends ServerOptions {
  out: string;
  json?: boolean;
}

interface OwnerDeleteOptions extends ServerOptions, ConfirmOptions {
  json?: boolean;
}

export async function exportOwnerTo(ownerId: string, options: OwnerExportOptions): Promise<number> {
  const { out, json } = options;
  if (existsSync(out) && readdirSync(out).length > 0)
    throw new RowmillError('EXPORT_INVALID', `expected --out to name an empty folder, ${out} has files`);
  return withRowmill(options, async (rowmill) => {
    const written = await writingTo(out, () => exportOwner(asCaller(rowmill), ownerId, out));
    if (json) console.log(JSON.stringify({ ownerId, path: out, ...written }));
    else console.log(`${jobs(written.jobs)} with ${rows(written.rows)} written to ${out}`);
    return 0;
  });
}

export async function deleteOwnerOf(ownerId: string, options: OwnerDeleteOptions): Promise<number> {
  return withRowmill(options, async (rowmill) => {
    const context = asCaller(rowmill);
    const found = await listOwnerJobs(context.db, ownerId, MOST_COUNTED);
    await confirm(
      `Delete owner ${printable(ownerId)}?`,
      `${jobs(found.length)} with all rows, results and files, and the webhooks, counters and limits of the owner are removed and cannot be restored.`,
      options,
    );
    const deleted = await deleteOwner(context, ownerId);
    if (options.json) console.log(JSON.stringify({ ownerId, deleted: true, ...deleted }));
    else console.log(`Owner ${printable(ownerId)} is deleted with ${jobs(deleted.jobs)}`);
    return 0;
  });
}

function jobs(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'job' : 'jobs'}`;
}

function asCaller(rowmill: Rowmill): EngineContext {
  return { ...contextOf(rowmill), by: { actor: currentAccount(), requestId: null, address: null } };
}
