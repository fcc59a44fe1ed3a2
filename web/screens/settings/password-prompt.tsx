// Asks for the password again before a sensitive action.
import { type FormEvent, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { client, queries } from '../../lib/client.ts';
import { passwordQuestion } from '../../lib/with-password.ts';

export function PasswordPrompt() {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    // React bubbles events through portals, and another form may contain this dialog.
    event.stopPropagation();
    const password = String(new FormData(event.currentTarget).get('password'));
    setBusy(true);
    setError(null);
    try {
      queries.setQueryData(['session'], await client.confirmSession({ password }));
      passwordQuestion.answer(true);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={() => passwordQuestion.answer(false)}
      title="Confirm your password"
      description="This changes access, so please confirm your password."
    >
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
        />
        {error !== null && <FailureNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={() => passwordQuestion.answer(false)}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={isBusy}>
            Confirm
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
