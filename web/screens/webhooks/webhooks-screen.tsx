// The list of webhooks.
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { z } from 'zod';
import type { webhook as webhookSchema } from '../../../src/contract/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StatusChip } from '../../components/status-chip.tsx';
import { cellClass, rowClass, Table } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { usePermission } from '../../lib/permission.ts';
import { webhooksRoute } from '../../routes/router.tsx';
import { FORMAT_WORDS, receiverOf } from './format-words.ts';
import { SecretDialog } from './secret-dialog.tsx';
import { WebhookDialog } from './webhook-dialog.tsx';

type Webhook = z.infer<typeof webhookSchema>;

export function WebhooksScreen() {
  const { all } = webhooksRoute.useSearch();
  const navigate = useNavigate({ from: '/webhooks' });
  const { can, seesAll } = usePermission();
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<{ webhookId: string; secret: string } | null>(null);
  const open = (webhookId: string) =>
    void navigate({ to: '/webhooks/$webhookId', params: { webhookId }, search: {} });
  const webhooks = useQuery({
    queryKey: ['webhooks', all],
    queryFn: () => client.listWebhooks(all ? { all: 'true' } : {}),
  });
  const add = can('createWebhook') && (
    <Button kind="primary" onClick={() => setCreating(true)}>
      <Plus size={16} aria-hidden /> New alert
    </Button>
  );
  const close = () => {
    const { webhookId } = created!;
    setCreated(null);
    open(webhookId);
  };
  return (
    <Page
      title="Alerts and webhooks"
      intro="Notify people by mail or chat, and other systems, when jobs finish, fail, pause or get stuck"
      actions={
        <>
          {seesAll && (
            <CheckField
              label="Show everyone's alerts"
              checked={all ?? false}
              onChange={({ target }) =>
                void navigate({ search: target.checked ? { all: true } : {}, replace: true })
              }
            />
          )}
          {add}
        </>
      }
    >
      {webhooks.isError && <FailureNote error={webhooks.error} />}
      {webhooks.isPending && <Loading />}
      {webhooks.isSuccess &&
        (webhooks.data.items.length === 0 ? (
          <EmptyState title="No alerts or webhooks yet">
            Rowmill sends a mail, a chat message or a signed request for each event, retrying for days.
          </EmptyState>
        ) : (
          <Table
            label="Alerts and webhooks"
            headings={['Receiver', 'Format', 'Status', 'Events', 'Last delivery', 'Created']}
          >
            {webhooks.data.items.map((webhook) => (
              <WebhookRow key={webhook.webhookId} webhook={webhook} />
            ))}
          </Table>
        ))}
      {isCreating && (
        <WebhookDialog
          webhook={null}
          onClose={() => setCreating(false)}
          onCreated={({ webhookId, secret }) =>
            secret === null ? open(webhookId) : setCreated({ webhookId, secret })
          }
        />
      )}
      {created && <SecretDialog secret={created.secret} onClose={close} />}
    </Page>
  );
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} max-w-80 font-normal`}>
        <Link
          to="/webhooks/$webhookId"
          params={{ webhookId: webhook.webhookId }}
          className="block truncate font-medium hover:underline"
        >
          {webhook.description || receiverOf(webhook)}
        </Link>
        {webhook.description !== '' && (
          <span className="block truncate text-[13px] text-muted">{receiverOf(webhook)}</span>
        )}
      </th>
      <td className={cellClass}>{FORMAT_WORDS[webhook.format]}</td>
      <td className={cellClass}>
        <StatusChip status={webhook.state} />
        {webhook.disabledBecause && <p className="text-[13px] text-muted">{webhook.disabledBecause}</p>}
      </td>
      <td className={`${cellClass} text-[13px]`}>{webhook.kinds.join(', ')}</td>
      <td className={`${cellClass} text-muted`}>
        {webhook.lastDeliveredAt ? <RelativeTime at={webhook.lastDeliveredAt} /> : 'never'}
      </td>
      <td className={`${cellClass} text-muted`}>
        <RelativeTime at={webhook.createdAt} />
      </td>
    </tr>
  );
}
