import type { Ability } from '../../../core/claims/ability.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Abilities of workers with a recent heartbeat.
const LIST_ABILITIES: Statement = {
  name: 'list-abilities',
  text: `
    select distinct a.ability
    from workers w cross join lateral jsonb_array_elements(w.abilities) as a(ability)
    where w.heartbeat_at > now() - $1::float8 * interval '1 millisecond'`,
};

export async function listAbilities(db: Executor, silentMs: number): Promise<Ability[]> {
  return (await db.runArrays(LIST_ABILITIES, [silentMs])).map((row) => row[0] as Ability);
}
