// The user's account and password.
import { type FormEvent, useState } from 'react';
import type { z } from 'zod';
import type { session as sessionSchema } from '../../../src/contract/accounts.ts';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Section } from '../../components/section.tsx';
import { say } from '../../components/toasts.tsx';
import { client } from '../../lib/client.ts';
import { usePermission } from '../../lib/permission.ts';
import { useSignOut } from '../../lib/session.ts';

const ROLE_WORDS = {
  viewer: 'can view and export',
  member: 'can create and edit',
  admin: 'full access',
};

export function AccountTab({ session }: { session: z.infer<typeof sessionSchema> }) {
  const { can } = usePermission();
  const signOut = useSignOut();
  return (
    <div className="grid items-start gap-4 md:grid-cols-2">
      <Section
        title="You"
        aside={
          <Button size="small" onClick={signOut}>
            Sign out
          </Button>
        }
      >
        <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2">
          <dt className="text-muted">Username</dt>
          <dd className="font-medium break-words">{session.userId}</dd>
          <dt className="text-muted">Role</dt>
          <dd>
            {session.role} <span className="text-muted">({ROLE_WORDS[session.role]})</span>
          </dd>
          <dt className="text-muted">Team</dt>
          <dd>{session.teamId ?? 'none'}</dd>
          {session.expiresAt && (
            <>
              <dt className="text-muted">Session expires</dt>
              <dd>
                <RelativeTime at={session.expiresAt} />
              </dd>
            </>
          )}
        </dl>
      </Section>
      {can('changePassword') && (
        <Section title="Password">
          <PasswordForm userId={session.userId} />
        </Section>
      )}
    </div>
  );
}

function PasswordForm({ userId }: { userId: string }) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const element = event.currentTarget;
    const form = new FormData(element);
    setError(null);
    if (form.get('password') !== form.get('again')) {
      setError(new Error("Passwords don't match"));
      return;
    }
    setBusy(true);
    try {
      await client.changePassword({
        current: String(form.get('current')),
        password: String(form.get('password')),
        ...(form.get('revokeKeys') !== null && { revokeKeys: true }),
      });
      element.reset();
      say('Password updated. Other sessions signed out.');
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
      <input type="text" name="userId" autoComplete="username" value={userId} readOnly hidden />
      <TextField
        label="Current password"
        name="current"
        type="password"
        autoComplete="current-password"
        required
      />
      <TextField
        label="New password"
        name="password"
        type="password"
        hint="At least 12 characters. Signs out your other sessions."
        minLength={12}
        maxLength={256}
        autoComplete="new-password"
        required
      />
      <TextField
        label="Confirm new password"
        name="again"
        type="password"
        autoComplete="new-password"
        required
      />
      <CheckField
        name="revokeKeys"
        label="Revoke API keys"
        hint="If someone else may know the password. Integrations need new keys."
      />
      {error !== null && <FailureNote error={error} />}
      <Button type="submit" kind="primary" className="self-start" disabled={isBusy}>
        Update password
      </Button>
    </form>
  );
}
