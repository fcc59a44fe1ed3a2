import type { Executor, Statement } from '../../../platform/database.ts';

// Index: users_by_team.
const LIST_TEAMS: Statement = {
  name: 'list-teams',
  text: `
    select team_id, created_at,
           array(select user_id from users u where u.team_id = t.team_id order by user_id) as members
    from teams t order by team_id limit $1`,
};

export interface Team {
  teamId: string;
  members: string[];
  createdAt: Date;
}

export async function listTeams(db: Executor, limit: number): Promise<Team[]> {
  const { rows } = await db.run<{ team_id: string; created_at: Date; members: string[] }>(LIST_TEAMS, [
    limit,
  ]);
  return rows.map((row) => ({ teamId: row.team_id, members: row.members, createdAt: row.created_at }));
}
