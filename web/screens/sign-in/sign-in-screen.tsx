// Signs in with username and password.
import { useNavigate, useSearch } from '@tanstack/react-router';
import { TextField } from '../../components/field.tsx';
import { client, queries } from '../../lib/client.ts';
import { AccountForm, textOf } from './account-form.tsx';

export function SignInScreen() {
  const navigate = useNavigate();
  const { to } = useSearch({ from: '/sign-in' });
  return (
    <AccountForm
      title="Sign in"
      intro="No account? Ask your administrator."
      action="Sign in"
      onSubmit={async (form) => {
        const session = await client.signIn({
          userId: textOf(form, 'userId'),
          password: textOf(form, 'password'),
        });
        queries.clear();
        queries.setQueryData(['session'], session);
        await navigate({ href: to ?? '/overview' });
      }}
    >
      <TextField label="Username" name="userId" autoComplete="username" required autoFocus />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
    </AccountForm>
  );
}
