// One webhook: URL, status and deliveries.
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { z } from 'zod';
import type { webhook as webhookSchema } from '../../../src/contract/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { Section } from '../../components/section.tsx';
import { StatusChip } from '../../components/status-chip.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import { usePermission } from '../../lib/permission.ts';
import { withPassword } from '../../lib/with-password.ts';
import { webhookRoute } from '../../routes/router.tsx';
import { FailedScreen } from '../failed-screen.tsx';
import { Deliveries } from './deliveries.tsx';
import { FORMAT_WORDS, receiverOf } from './format-words.ts';
import { SecretDialog } from './secret-dialog.tsx';
import { WebhookDialog } from './webhook-dialog.tsx';

type Webhook = z.infer<typeof webhookSchema>;

export function WebhookScreen() {
  const { webhookId } = webhookRoute.useParams();
  const { can } = usePermission();
  const webhook = useQuery({
    queryKey: ['webhook', webhookId],
    queryFn: ({ signal }) => client.getWebhook({ webhookId }, { signal }),
  });
  if (webhook.isError && !webhook.data) return <FailedScreen error={webhook.error} />;
  if (!webhook.data) return <Loading isScreen />;
  const { data } = webhook;
  return (
    <Page
      title={<span className="break-all">{data.description || receiverOf(data)}</span>}
      intro={
        <Link to="/webhooks" className="hover:underline">
          All alerts and webhooks
        </Link>
      }
      actions={<Actions webhook={data} />}
    >
      <Section>
        <dl className="grid gap-x-6 gap-y-2 sm:grid-cols-[auto_1fr]">
          <dt className="text-muted">{FORMAT_WORDS[data.format]}</dt>
          <dd className="break-all">{receiverOf(data)}</dd>
          <dt className="text-muted">Status</dt>
          <dd>
            <StatusChip status={data.state} /> {data.disabledBecause}
          </dd>
          <dt className="text-muted">Events</dt>
          <dd>{data.kinds.join(', ')}</dd>
          <dt className="text-muted">Created</dt>
          <dd>
            <RelativeTime at={data.createdAt} /> for {data.ownerId}
          </dd>
        </dl>
      </Section>
      <Deliveries webhookId={webhookId} canResend={can('resendDelivery')} />
    </Page>
  );
}

function refresh(): void {
  for (const key of ['webhooks', 'webhook', 'deliveries'])
    void queries.invalidateQueries({ queryKey: [key] });
}

function Actions({ webhook }: { webhook: Webhook }) {
  const { webhookId, state, format } = webhook;
  const navigate = useNavigate();
  const { can } = usePermission();
  const [shown, setShown] = useState<'change' | 'delete' | 'rotate' | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (action: () => Promise<unknown>) => {
    setBusy(true);
    await action().catch(sayError);
    setBusy(false);
    refresh();
  };
  const test = async () => {
    const { state: went, lastStatus, lastError, lastMs } = await client.testWebhook({ webhookId });
    const words = lastError ?? (lastStatus === null ? 'no response' : String(lastStatus));
    if (went === 'DELIVERED') say(`Test delivered: ${words} in ${Math.round(lastMs ?? 0)} ms`);
    else sayError(new Error(`Test failed: ${words}`));
  };
  const toggle = () =>
    client.changeWebhook({ webhookId, state: state === 'ACTIVE' ? 'DISABLED' : 'ACTIVE' }).then(() =>
      say(state === 'ACTIVE' ? 'Disabled' : 'Enabled', {
        undo: () => void run(() => client.changeWebhook({ webhookId, state })),
      }),
    );
  return (
    <>
      {can('testWebhook') && (
        <Button disabled={isBusy} onClick={() => void run(test)}>
          Send a test
        </Button>
      )}
      {can('changeWebhook') && <Button onClick={() => setShown('change')}>Edit</Button>}
      {can('rotateWebhookSecret') && format === 'signed' && (
        <Button onClick={() => setShown('rotate')}>Rotate secret</Button>
      )}
      {can('changeWebhook') && (
        <Button disabled={isBusy} onClick={() => void run(toggle)}>
          {state === 'ACTIVE' ? 'Disable' : 'Enable'}
        </Button>
      )}
      {can('deleteWebhook') && (
        <Button kind="danger" onClick={() => setShown('delete')}>
          Delete
        </Button>
      )}
      {shown === 'change' && <WebhookDialog webhook={webhook} onClose={() => setShown(null)} />}
      <Confirm
        open={shown === 'rotate'}
        onClose={() => setShown(null)}
        title="Rotate secret?"
        action="Rotate"
        onConfirm={() =>
          run(async () => {
            setSecret((await withPassword(() => client.rotateWebhookSecret({ webhookId }))).secret);
          })
        }
      >
        Both secrets are valid for 24 h.
      </Confirm>
      <Confirm
        open={shown === 'delete'}
        onClose={() => setShown(null)}
        title="Delete this webhook?"
        action="Delete webhook"
        danger
        onConfirm={() =>
          run(async () => {
            await client.deleteWebhook({ webhookId });
            say('Webhook deleted');
            await navigate({ to: '/webhooks' });
          })
        }
      >
        Its deliveries are deleted too, including undelivered ones. This can't be undone; to stop it for a
        while, disable it.
      </Confirm>
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}
