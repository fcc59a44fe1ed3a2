// API keys of the user, or of everyone.
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { z } from 'zod';
import type { apiKey } from '../../../src/contract/accounts.ts';
import type { Scope } from '../../../src/contract/scopes.ts';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog, textIn } from '../../components/form-dialog.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SelectField } from '../../components/select-field.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { cellClass, rowClass, Table } from '../../components/table.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import { usePermission } from '../../lib/permission.ts';
import { withPassword } from '../../lib/with-password.ts';

type ApiKey = z.infer<typeof apiKey>;

const SCOPE_WORDS: Record<Scope, string> = {
  read: 'View jobs and rows',
  write: 'Create and edit jobs',
  export: 'Download results',
  admin: 'Manage accounts, limits and everything else you can',
};

export function KeysTab() {
  const { can, seesAll, keyScopes } = usePermission();
  const [ofAll, setOfAll] = useState(false);
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<string | null>(null);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const keys = useQuery({
    queryKey: ['keys', ofAll],
    queryFn: () => client.listKeys(ofAll ? { all: 'true' } : {}),
  });
  const listed = keys.data?.items ?? [];
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-muted">
          API keys act on your behalf within their scopes. Send as{' '}
          <code className="font-mono text-[13px]">Authorization: Bearer rmk_…</code>
        </p>
        <div className="flex items-center gap-4">
          {seesAll && (
            <CheckField
              label="Show everyone's keys"
              checked={ofAll}
              onChange={({ target }) => setOfAll(target.checked)}
            />
          )}
          {can('createKey') && (
            <Button kind="primary" onClick={() => setCreating(true)}>
              <Plus size={16} aria-hidden /> New key
            </Button>
          )}
        </div>
      </div>
      {keys.isError && <FailureNote error={keys.error} />}
      {keys.isSuccess &&
        (listed.length === 0 ? (
          <EmptyState title="No API keys">Use one key per integration.</EmptyState>
        ) : (
          <Table
            label="API keys"
            headings={['Name', ...(ofAll ? ['Owner'] : []), 'Scopes', 'Created', 'Last used', 'Expires', '']}
          >
            {listed.map((key) => (
              <KeyRow key={key.keyId} apiKey={key} withOwner={ofAll} onRevoke={() => setRevoking(key)} />
            ))}
          </Table>
        ))}
      {isCreating && <NewKey scopes={keyScopes} onClose={() => setCreating(false)} onCreated={setCreated} />}
      {created !== null && (
        <Dialog open onClose={() => setCreated(null)} title="Your new API key">
          <div className="flex flex-col gap-4">
            <ShownOnce label="API key" text={created} />
            <Button kind="primary" className="self-end" onClick={() => setCreated(null)}>
              Done
            </Button>
          </div>
        </Dialog>
      )}
      <Confirm
        open={revoking !== null}
        onClose={() => setRevoking(null)}
        title={`Revoke ${revoking?.name ?? ''}?`}
        action="Revoke key"
        danger
        onConfirm={() => revokeKey(revoking!)}
      >
        Integrations using it stop working immediately. This can't be undone.
      </Confirm>
    </div>
  );
}

async function revokeKey({ keyId }: ApiKey): Promise<void> {
  try {
    await withPassword(() => client.revokeKey({ keyId }));
    say('Key revoked');
  } catch (error) {
    sayError(error);
  }
  void queries.invalidateQueries({ queryKey: ['keys'] });
}

interface KeyRowProps {
  apiKey: ApiKey;
  withOwner: boolean;
  onRevoke: () => void;
}

function KeyRow({ apiKey: key, withOwner, onRevoke }: KeyRowProps) {
  const isRevoked = key.revokedAt !== null;
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} font-normal`}>
        <span className={isRevoked ? 'text-muted line-through' : 'font-medium'}>{key.name}</span>
        <span className="block font-mono text-xs text-muted">{key.keyId}</span>
      </th>
      {withOwner && <td className={cellClass}>{key.userId}</td>}
      <td className={cellClass}>{key.scopes.join(', ')}</td>
      <td className={`${cellClass} text-muted`}>
        <RelativeTime at={key.createdAt} />
      </td>
      <td className={`${cellClass} text-muted`}>
        {key.lastUsedAt ? <RelativeTime at={key.lastUsedAt} /> : 'never'}
      </td>
      <td className={`${cellClass} text-muted`}>
        {key.revokedAt ? (
          <>
            revoked <RelativeTime at={key.revokedAt} />
          </>
        ) : key.expiresAt ? (
          <RelativeTime at={key.expiresAt} />
        ) : (
          'never'
        )}
      </td>
      <td className={`${cellClass} text-right`}>
        {!isRevoked && (
          <Button size="small" kind="danger" onClick={onRevoke}>
            Revoke<span className="sr-only"> {key.name}</span>
          </Button>
        )}
      </td>
    </tr>
  );
}

interface NewKeyProps {
  /** Scopes that the key can have. */
  scopes: readonly Scope[];
  onClose: () => void;
  onCreated: (key: string) => void;
}

function NewKey({ scopes, onClose, onCreated }: NewKeyProps) {
  return (
    <FormDialog
      title="New API key"
      action="Create key"
      onClose={onClose}
      onSubmit={async (form) => {
        const days = textIn(form, 'days');
        const { key } = await withPassword(() =>
          client.createKey({
            name: textIn(form, 'name'),
            scopes: scopes.filter((scope) => form.get(scope) !== null),
            days: days === '' ? null : Number(days),
          }),
        );
        void queries.invalidateQueries({ queryKey: ['keys'] });
        onCreated(key);
      }}
    >
      <TextField label="Name" name="name" hint='e.g. "Zapier"' maxLength={100} required autoFocus />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 font-medium">Scopes</legend>
        {scopes.map((scope) => (
          <CheckField key={scope} name={scope} label={SCOPE_WORDS[scope]} defaultChecked={scope === 'read'} />
        ))}
      </fieldset>
      <SelectField
        label="Expires after"
        name="days"
        defaultValue="90"
        choices={[
          ['7', '7 days'],
          ['30', '30 days'],
          ['90', '90 days'],
          ['365', 'A year'],
          ['', 'Never'],
        ]}
      />
    </FormDialog>
  );
}
