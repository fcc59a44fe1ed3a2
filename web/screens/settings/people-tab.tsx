// People and teams of this server, for administrators.
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { z } from 'zod';
import type { team as teamSchema, user as userSchema } from '../../../src/contract/accounts.ts';
import { Button } from '../../components/button.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog, textIn } from '../../components/form-dialog.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Section } from '../../components/section.tsx';
import { cellClass, rowClass, Table } from '../../components/table.tsx';
import { client, queries } from '../../lib/client.ts';
import { withPassword } from '../../lib/with-password.ts';
import { UserDialog } from './user-dialog.tsx';

type User = z.infer<typeof userSchema>;
type Team = z.infer<typeof teamSchema>;

export function PeopleTab({ ownId }: { ownId: string }) {
  const users = useQuery({ queryKey: ['users'], queryFn: () => client.listUsers() });
  const teams = useQuery({ queryKey: ['teams'], queryFn: () => client.listTeams() });
  const [shown, setShown] = useState<User | 'new' | 'team' | null>(null);
  const listedTeams = teams.data?.items ?? [];
  const close = () => setShown(null);
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-col gap-3">
        <div className="flex items-center justify-between">
          <h2 className="font-semibold">People</h2>
          <Button kind="primary" onClick={() => setShown('new')}>
            <Plus size={16} aria-hidden /> Add person
          </Button>
        </div>
        {users.isError && <FailureNote error={users.error} />}
        {users.isSuccess && (
          <Table label="People" headings={['Username', 'Role', 'Team', 'Last signed in', 'Added', '']}>
            {users.data.items.map((user) => (
              <UserRow
                key={user.userId}
                user={user}
                isSelf={user.userId === ownId}
                onChange={() => setShown(user)}
              />
            ))}
          </Table>
        )}
      </div>
      <Section
        title="Teams"
        aside={
          <Button size="small" onClick={() => setShown('team')}>
            <Plus size={14} aria-hidden /> Add team
          </Button>
        }
      >
        {teams.isError && <FailureNote error={teams.error} />}
        <Teams teams={listedTeams} />
      </Section>
      {shown === 'team' && <NewTeam onClose={close} />}
      {shown !== null && shown !== 'team' && (
        <UserDialog user={shown === 'new' ? null : shown} teams={listedTeams} onClose={close} />
      )}
    </div>
  );
}

function UserRow({ user, isSelf, onChange }: { user: User; isSelf: boolean; onChange: () => void }) {
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} font-normal`}>
        <span className={user.disabled ? 'text-muted line-through' : 'font-medium'}>{user.userId}</span>
        {isSelf && <span className="text-muted"> (you)</span>}
        {user.disabled && <span className="text-[13px] text-muted"> deactivated</span>}
      </th>
      <td className={cellClass}>{user.role}</td>
      <td className={cellClass}>{user.teamId}</td>
      <td className={`${cellClass} text-muted`}>
        {user.lastSignInAt ? <RelativeTime at={user.lastSignInAt} /> : 'never'}
      </td>
      <td className={`${cellClass} text-muted`}>
        <RelativeTime at={user.createdAt} />
      </td>
      <td className={`${cellClass} text-right`}>
        <Button size="small" onClick={onChange}>
          Edit<span className="sr-only"> {user.userId}</span>
        </Button>
      </td>
    </tr>
  );
}

function Teams({ teams }: { teams: readonly Team[] }) {
  if (teams.length === 0) return <p className="text-muted">No teams. Team members share jobs.</p>;
  return (
    <ul className="flex flex-col gap-2">
      {teams.map(({ teamId, members }) => (
        <li key={teamId}>
          <span className="font-medium">{teamId}</span>{' '}
          <span className="text-muted">{members.length === 0 ? 'no members' : members.join(', ')}</span>
        </li>
      ))}
    </ul>
  );
}

function NewTeam({ onClose }: { onClose: () => void }) {
  return (
    <FormDialog
      title="Add team"
      description="Team members share jobs."
      action="Add team"
      onClose={onClose}
      onSubmit={async (form) => {
        const name = textIn(form, 'teamId').replace(/^@/, '');
        await withPassword(() => client.createTeam({ teamId: `@${name}` }));
        void queries.invalidateQueries({ queryKey: ['teams'] });
      }}
    >
      <TextField
        label="Name"
        name="teamId"
        hint="Lowercase letters, numbers, dots and dashes. Can't be changed later."
        required
        autoFocus
      />
    </FormDialog>
  );
}
