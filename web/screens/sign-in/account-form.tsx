// The form of sign-in and first-run setup.
import { Rows3 } from 'lucide-react';
import { type FormEvent, type ReactNode, useState } from 'react';
import { RowmillApiError } from '../../../src/client/rowmill-api-error.ts';
import { Button } from '../../components/button.tsx';

export interface AccountFormProps {
  title: string;
  intro: ReactNode;
  action: string;
  onSubmit: (form: FormData) => Promise<void>;
  children: ReactNode;
}

export function AccountForm({ title, intro, action, onSubmit, children }: AccountFormProps) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await onSubmit(new FormData(event.currentTarget));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="flex min-h-dvh items-center justify-center p-4">
      <form
        onSubmit={(event) => void submit(event)}
        className="flex w-full max-w-sm flex-col gap-4 rounded-lg border border-line bg-surface p-6 shadow-sm"
      >
        <div className="flex items-center gap-2 text-lg font-semibold">
          <Rows3 className="text-accent" aria-hidden /> Rowmill
        </div>
        <div>
          <h1 className="text-base font-semibold">{title}</h1>
          <div className="text-muted">{intro}</div>
        </div>
        {children}
        {error !== null && (
          <div role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            <p>{error instanceof Error ? error.message : String(error)}</p>
            {error instanceof RowmillApiError && <p className="text-[13px]">{error.hint}</p>}
          </div>
        )}
        <Button kind="primary" type="submit" disabled={isBusy}>
          {action}
        </Button>
      </form>
    </main>
  );
}

export function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}
