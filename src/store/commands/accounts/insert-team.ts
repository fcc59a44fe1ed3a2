import type { Executor, Statement } from '../../../platform/database.ts';

const INSERT_TEAM: Statement = {
  name: 'insert-team',
  text: 'insert into teams (team_id) values ($1) on conflict (team_id) do nothing returning created_at',
};

/** Returns null if the name is taken. */
export async function insertTeam(db: Executor, teamId: string): Promise<Date | null> {
  return (await db.run<{ created_at: Date }>(INSERT_TEAM, [teamId])).rows[0]?.created_at ?? null;
}
