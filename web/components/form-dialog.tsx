// A form in a dialog. It submits, closes on success and shows the error otherwise.
import { type FormEvent, type ReactNode, useState } from 'react';
import { NotConfirmed } from '../lib/with-password.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { FailureNote } from './failure-note.tsx';

export interface FormDialogProps {
  title: string;
  description?: ReactNode;
  /** Label of the button, as a verb. */
  action: string;
  onClose: () => void;
  onSubmit: (form: FormData) => Promise<unknown>;
  children: ReactNode;
}

export function FormDialog({ title, description, action, onClose, onSubmit, children }: FormDialogProps) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(null);
    try {
      await onSubmit(form);
      onClose();
    } catch (failure) {
      if (!(failure instanceof NotConfirmed)) setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open onClose={onClose} title={title} description={description}>
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
        {children}
        {error !== null && <FailureNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={isBusy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
