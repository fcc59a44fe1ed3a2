import { OWNER_RESOURCE } from '../../../core/limits/resource-limits.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Everything that carries the name of an owner, besides its jobs, its uploads, its account and the audit log. Deliveries
// of its own webhooks go with them; those of others carry what its jobs reported. Refuses while a job is left, so that no
// job loses its events.
const DELETE_OWNER: Statement = {
  name: 'delete-owner',
  text: `
    with allowed as (select where not exists (select from jobs where owner_id = $1)),
    events as (delete from job_events where owner_id = $1 and exists (select from allowed)),
    others as (delete from deliveries where job_id = any($2::uuid[]) and exists (select from allowed)),
    hooks as (delete from webhooks where owner_id = $1 and exists (select from allowed)),
    entries as (delete from counter_entries where owner_id = $1 and exists (select from allowed)),
    entities as (delete from counter_entities where owner_id = $1 and exists (select from allowed)),
    scopes as (delete from counter_scopes where owner_id = $1 and exists (select from allowed)),
    deltas as (delete from counter_scope_deltas where owner_id = $1 and exists (select from allowed)),
    spent as (delete from budgets where scope in ('owner:' || $1, 'day:' || $1) and exists (select from allowed)),
    answers as (delete from idempotency_keys where caller = $1 and exists (select from allowed)),
    permits as (delete from resources where name = '${OWNER_RESOURCE}' and key = $1 and exists (select from allowed)),
    overrides as (delete from resource_overrides where name = '${OWNER_RESOURCE}' and key = $1 and exists (select from allowed)),
    samples as (delete from resource_samples where name = '${OWNER_RESOURCE}' and key = $1 and exists (select from allowed)),
    limits as (delete from owners where owner_id = $1 and exists (select from allowed))
    select from allowed`,
};

/** Returns false, and deletes nothing, if the owner has a job. */
export async function deleteOwnerRows(db: Executor, ownerId: string, jobIds: string[]): Promise<boolean> {
  return (await db.run(DELETE_OWNER, [ownerId, jobIds])).rowCount === 1;
}
