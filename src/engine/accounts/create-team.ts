// An administrator creates a team. Its name is the owner of the jobs that its members create.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { insertTeam } from '../../store/commands/accounts/insert-team.ts';
import type { Team } from '../../store/views/accounts/list-teams.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

export async function createTeam(context: EngineContext, teamId: string): Promise<Team> {
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const createdAt = await insertTeam(tx, teamId);
      if (createdAt === null) throw new RowmillError('ACCOUNT_CONFLICT', `team ${teamId} already exists`);
      await recordAudit(tx, context, { action: 'team.create', subject: `team ${teamId}` });
      return { teamId, members: [], createdAt };
    }),
  );
}
