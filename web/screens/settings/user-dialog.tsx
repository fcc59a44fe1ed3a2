// Adds a person, or edits role, team, password and access.
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
  /** Null: a new person. */
  user: z.infer<typeof userSchema> | null;
  teams: readonly z.infer<typeof teamSchema>[];
  onClose: () => void;
}

const ROLES = [
  ['viewer', 'Viewer: can view and export'],
  ['member', 'Member: can create and edit'],
  ['admin', 'Administrator: full access'],
] as const;

export function UserDialog({ user, teams, onClose }: UserDialogProps) {
  const submit = async (form: FormData) => {
    const role = textIn(form, 'role') as Role;
    const teamId = textIn(form, 'teamId') || null;
    const password = String(form.get('password') ?? '');
    if (user === null) {
      const userId = textIn(form, 'userId');
      await withPassword(() => client.createUser({ userId, password, role, teamId }));
      say(`${userId} added`);
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
      say(`${userId} updated`);
    }
    void queries.invalidateQueries({ queryKey: ['users'] });
    void queries.invalidateQueries({ queryKey: ['teams'] });
  };
  return (
    <FormDialog
      title={user === null ? 'Add person' : `Edit ${user.userId}`}
      action={user === null ? 'Add' : 'Save'}
      onClose={onClose}
      onSubmit={submit}
    >
      {user === null && (
        <TextField
          label="Username"
          name="userId"
          hint="Lowercase letters, numbers, dots and dashes. Can't be changed later."
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
            ? 'At least 12 characters. Share it securely; they can change it in Settings.'
            : 'At least 12 characters. Leave empty to keep.'
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
            hint="If someone else may know the password. Integrations need new keys."
          />
          <CheckField
            name="disabled"
            label="Deactivate"
            hint="Signs out, revokes keys and disables webhooks. Jobs are kept."
            defaultChecked={user.disabled}
          />
        </>
      )}
    </FormDialog>
  );
}
