// Adds somebody, or changes role, team or password, or shuts somebody out.
import type { z } from 'zod';
import type { team as teamSchema, user as userSchema } from '../../../src/contract/accounts.ts';
import type { Role } from '../../../src/core/accounts/role.ts';
import { CheckField } from '../../components/check-field.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog, textIn } from '../../components/form-dialog.tsx';
import { SelectField } from '../../components/select-field.tsx';
import { say } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import { withPassword } from '../../lib/with-password.ts';

export interface UserDialogProps {
  /** Null: a new one. */
  user: z.infer<typeof userSchema> | null;
  teams: readonly z.infer<typeof teamSchema>[];
  onClose: () => void;
}

const ROLES = [
  ['viewer', 'Viewer: looks at jobs and exports them'],
  ['member', 'Member: makes and changes jobs'],
  ['admin', 'Administrator: everything, for everybody'],
] as const;

export function UserDialog({ user, teams, onClose }: UserDialogProps) {
  const submit = async (form: FormData) => {
    const role = textIn(form, 'role') as Role;
    const teamId = textIn(form, 'teamId') || null;
    const password = String(form.get('password') ?? '');
    if (user === null) {
      const userId = textIn(form, 'userId');
      await withPassword(() => client.createUser({ userId, password, role, teamId }));
      say(`${userId} is added.`);
    } else {
      const { userId } = user;
      const disabled = form.get('disabled') !== null;
      await withPassword(() =>
        client.changeUser({
          userId,
          role,
          teamId,
          disabled,
          ...(password !== '' && { password }),
          ...(form.get('revokeKeys') !== null && { revokeKeys: true }),
        }),
      );
      say(`${userId} is changed.`);
    }
    void queries.invalidateQueries({ queryKey: ['users'] });
    void queries.invalidateQueries({ queryKey: ['teams'] });
  };
  return (
    <FormDialog
      title={user === null ? 'Add somebody' : `Change ${user.userId}`}
      action={user === null ? 'Add' : 'Change'}
      onClose={onClose}
      onSubmit={submit}
    >
      {user === null && (
        <TextField
          label="Name"
          name="userId"
          hint="Lower-case letters, digits, dots and dashes. It never changes."
          autoComplete="off"
          required
          autoFocus
        />
      )}
      <SelectField label="Role" name="role" defaultValue={user?.role ?? 'member'} choices={ROLES} />
      <SelectField
        label="Team"
        name="teamId"
        defaultValue={user?.teamId ?? ''}
        choices={[['', 'None'], ...teams.map(({ teamId }) => [teamId, teamId] as const)]}
      />
      <TextField
        label={user === null ? 'Password' : 'New password'}
        name="password"
        type="password"
        hint={
          user === null
            ? 'At least 12 characters. Hand it over safely; it can be changed under Settings.'
            : 'Empty: it stays. Otherwise at least 12 characters.'
        }
        minLength={12}
        maxLength={256}
        autoComplete="new-password"
        required={user === null}
      />
      {user !== null && (
        <>
          <CheckField
            name="revokeKeys"
            label="Revoke API keys"
            hint="For a password that somebody else may know. Programs need new keys."
          />
          <CheckField
            name="disabled"
            label="Shut out"
            hint="Sessions, keys and webhooks end at once. Jobs stay."
            defaultChecked={user.disabled}
          />
        </>
      )}
    </FormDialog>
  );
}
