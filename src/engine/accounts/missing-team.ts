// A team that there is not shows as a broken reference.
import { RowmillError } from '../../core/errors/rowmill-error.ts';

const FOREIGN_KEY_VIOLATION = '23503';

export function asMissingTeam(error: unknown, teamId: string | null | undefined): unknown {
  return (error as { code?: string } | null)?.code === FOREIGN_KEY_VIOLATION
    ? new RowmillError('TEAM_NOT_FOUND', `there is no team ${teamId}`)
    : error;
}
