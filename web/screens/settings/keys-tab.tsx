// API keys: for programs that speak to this server.
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
  read: 'Look at jobs and rows',
  write: 'Make and change jobs',
  export: 'Take results and files',
  admin: 'Accounts, limits and everything else you may do',
};

export function KeysTab() {
  const { can, seesAll, keyScopes } = usePermission();
  const [ofAll, setOfAll] = useState(false);
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const [ending, setEnding] = useState<ApiKey | null>(null);
  const keys = useQuery({
    queryKey: ['keys', ofAll],
    queryFn: () => client.listKeys(ofAll ? { all: 'true' } : {}),
  });
  const listed = keys.data?.items ?? [];
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-muted">
          A key lets a program do what you may do, within its scopes. It goes into the header{' '}
          <code className="font-mono text-[13px]">Authorization: Bearer rmk_…</code>
        </p>
        <div className="flex items-center gap-4">
          {seesAll && (
            <CheckField
              label="Of everybody"
              checked={ofAll}
              onChange={({ target }) => setOfAll(target.checked)}
            />
          )}
          {can('createKey') && (
            <Button kind="primary" onClick={() => setMaking(true)}>
              <Plus size={16} aria-hidden /> New key
            </Button>
          )}
        </div>
      </div>
      {keys.isError && <FailureNote error={keys.error} />}
      {keys.isSuccess &&
        (listed.length === 0 ? (
          <EmptyState title="No API keys">
            Make one for each program, so that each can be ended alone.
          </EmptyState>
        ) : (
          <Table
            label="API keys"
            headings={['Name', ...(ofAll ? ['Of'] : []), 'Scopes', 'Made', 'Last used', 'Ends', '']}
          >
            {listed.map((key) => (
              <KeyRow key={key.keyId} apiKey={key} withOwner={ofAll} onEnd={() => setEnding(key)} />
            ))}
          </Table>
        ))}
      {isMaking && <NewKey scopes={keyScopes} onClose={() => setMaking(false)} onMade={setMade} />}
      {made !== null && (
        <Dialog open onClose={() => setMade(null)} title="The new key">
          <div className="flex flex-col gap-4">
            <ShownOnce label="API key" text={made} />
            <Button kind="primary" className="self-end" onClick={() => setMade(null)}>
              I have kept it
            </Button>
          </div>
        </Dialog>
      )}
      <Confirm
        open={ending !== null}
        onClose={() => setEnding(null)}
        title={`End the key ${ending?.name ?? ''}?`}
        action="End the key"
        danger
        onConfirm={() => endKey(ending!)}
      >
        Programs that use it are refused at once. This cannot be taken back.
      </Confirm>
    </div>
  );
}

async function endKey({ keyId, name }: ApiKey): Promise<void> {
  try {
    await withPassword(() => client.revokeKey({ keyId }));
    say(`The key ${name} has ended.`);
  } catch (error) {
    sayError(error);
  }
  void queries.invalidateQueries({ queryKey: ['keys'] });
}

interface KeyRowProps {
  apiKey: ApiKey;
  withOwner: boolean;
  onEnd: () => void;
}

function KeyRow({ apiKey: key, withOwner, onEnd }: KeyRowProps) {
  const hasEnded = key.revokedAt !== null;
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} font-normal`}>
        <span className={hasEnded ? 'text-muted line-through' : 'font-medium'}>{key.name}</span>
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
            ended <RelativeTime at={key.revokedAt} />
          </>
        ) : key.expiresAt ? (
          <RelativeTime at={key.expiresAt} />
        ) : (
          'never'
        )}
      </td>
      <td className={`${cellClass} text-right`}>
        {!hasEnded && (
          <Button size="small" kind="danger" onClick={onEnd}>
            End<span className="sr-only"> the key {key.name}</span>
          </Button>
        )}
      </td>
    </tr>
  );
}

interface NewKeyProps {
  /** What it may be for. */
  scopes: readonly Scope[];
  onClose: () => void;
  onMade: (key: string) => void;
}

function NewKey({ scopes, onClose, onMade }: NewKeyProps) {
  return (
    <FormDialog
      title="New API key"
      action="Make the key"
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
        onMade(key);
      }}
    >
      <TextField label="Name" name="name" hint="What uses it." maxLength={100} required autoFocus />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 font-medium">It may</legend>
        {scopes.map((scope) => (
          <CheckField key={scope} name={scope} label={SCOPE_WORDS[scope]} defaultChecked={scope === 'read'} />
        ))}
      </fieldset>
      <SelectField
        label="It ends after"
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
