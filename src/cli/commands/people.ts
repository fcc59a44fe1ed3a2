// rowmill people: accounts of a server, for administrators (docs/accounts.md).
import type { z } from 'zod';
import type { user } from '../../contract/accounts.ts';
import type { Role } from '../../core/accounts/role.ts';
import { askSecret, isAtTerminal, readStandardInput } from '../ask.ts';
import { confirm, type ConfirmOptions } from '../confirm.ts';
import { printable } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import { withServer } from '../remote/with-server.ts';
import { textTable } from '../text-table.ts';

export interface PeopleOptions extends TargetOptions, ConfirmOptions {
  json?: boolean;
}

export interface PersonOptions extends PeopleOptions {
  role?: Role;
  team?: string;
  enable?: boolean;
}

export async function listPeople(options: PeopleOptions): Promise<number> {
  return withServer(options, 'accounts', async (client) => {
    const { items } = await client.listUsers();
    if (options.json) console.log(JSON.stringify(items));
    else {
      const headers = ['User', 'Role', 'Team', 'State', 'Created', 'Last sign-in'];
      const rows = items.map((each) => [
        ...[each.userId, each.role, each.teamId ?? '-', each.disabled ? 'disabled' : 'active'],
        each.createdAt.slice(0, 10),
        each.lastSignInAt?.slice(0, 10) ?? 'never',
      ]);
      console.log(textTable(headers, rows, { drop: ['Created', 'Last sign-in', 'Team'] }).join('\n'));
    }
    return 0;
  });
}

/** A password is never an argument, because other users of the machine could read it. */
export async function addPerson(userId: string, options: PersonOptions): Promise<number> {
  return withServer(options, 'accounts', async (client) => {
    const password = isAtTerminal()
      ? await askSecret(`Password of ${userId}: `)
      : (await readStandardInput()).trimEnd();
    const { role, team: teamId } = options;
    return print(await client.createUser({ userId, password, ...given({ role, teamId }) }), options);
  });
}

export async function setPerson(userId: string, options: PersonOptions): Promise<number> {
  return withServer(options, 'accounts', async (client) => {
    const { role, team, enable } = options;
    const teamId = team === 'none' ? null : team;
    return print(
      await client.changeUser({ userId, ...given({ role, teamId, disabled: enable && false }) }),
      options,
    );
  });
}

/** An account with jobs cannot be deleted, so it is disabled: the name stays the owner of its jobs. */
export async function removePerson(userId: string, options: PeopleOptions): Promise<number> {
  return withServer(options, 'accounts', async (client) => {
    await confirm(
      `Remove ${printable(userId)}?`,
      'The account is disabled; its sessions, keys and webhooks end now. Its jobs stay.',
      options,
    );
    return print(await client.changeUser({ userId, disabled: true }), options);
  });
}

function print(person: z.infer<typeof user>, { json }: PeopleOptions): number {
  const { userId, role, teamId, disabled } = person;
  const team = teamId === null ? '' : `, team ${printable(teamId)}`;
  console.log(
    json ? JSON.stringify(person) : `${userId}: ${role}${team}, ${disabled ? 'disabled' : 'active'}`,
  );
  return 0;
}

function given<Change extends object>(
  change: Change,
): { [Key in keyof Change]: Exclude<Change[Key], undefined> } {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as never;
}
