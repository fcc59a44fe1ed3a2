// Creates the first account of a new server, with the token from its log.
import { useNavigate } from '@tanstack/react-router';
import { TextField } from '../../components/field.tsx';
import { client, queries } from '../../lib/client.ts';
import { AccountForm, textOf } from './account-form.tsx';

export function SetupScreen() {
  const navigate = useNavigate();
  return (
    <AccountForm
      title="Set up Rowmill"
      intro="Create the first account. It will be the administrator."
      action="Create account"
      onSubmit={async (form) => {
        const session = await client.setUp({
          token: textOf(form, 'token').trim(),
          userId: textOf(form, 'userId').trim(),
          password: textOf(form, 'password'),
        });
        queries.clear();
        queries.setQueryData(['session'], session);
        await navigate({ to: '/overview' });
      }}
    >
      <TextField
        label="Setup token"
        name="token"
        hint="Printed in the server log at startup."
        autoComplete="off"
        required
        autoFocus
      />
      <TextField
        label="Username"
        name="userId"
        hint="Lowercase letters, numbers, dots and dashes."
        autoComplete="username"
        required
      />
      <TextField
        label="Password"
        name="password"
        type="password"
        hint="At least 12 characters."
        autoComplete="new-password"
        minLength={12}
        required
      />
    </AccountForm>
  );
}
