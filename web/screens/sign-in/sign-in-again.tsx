// Asks for the password when the session has expired. The page below keeps its state.
import { type FormEvent, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { client, queries } from '../../lib/client.ts';
import { useSession } from '../../lib/session.ts';
import { sessionEnd } from '../../lib/session-end.ts';
import { textOf } from './account-form.tsx';

export function SignInAgain() {
  const userId = useSession().data?.userId ?? '';
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    // React bubbles events through portals, and another form may contain this dialog.
    event.stopPropagation();
    const password = textOf(new FormData(event.currentTarget), 'password');
    setBusy(true);
    setError(null);
    try {
      queries.setQueryData(['session'], await client.signIn({ userId, password }));
      sessionEnd.signedIn();
      void queries.invalidateQueries();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const changeAccount = () => {
    queries.clear();
    location.reload();
  };
  return (
    <Dialog
      open
      onClose={() => sessionEnd.putOff()}
      title="Sign in again"
      description="Your session expired. Sign in to continue — nothing you typed is lost."
    >
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
        <TextField label="Username" name="userId" autoComplete="username" value={userId} readOnly />
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
        />
        {error !== null && <FailureNote error={error} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={changeAccount}>Use a different account</Button>
          <Button type="submit" kind="primary" disabled={isBusy}>
            Sign in
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
