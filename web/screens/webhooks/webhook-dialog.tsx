// Makes or changes a webhook: where it goes and what it is told.
import type { z } from 'zod';
import { EVENT_KINDS, type EventKind } from '../../../src/contract/event-kinds.ts';
import type { webhook as webhookSchema } from '../../../src/contract/webhooks.ts';
import { CheckField } from '../../components/check-field.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog, textIn } from '../../components/form-dialog.tsx';
import { client, queries } from '../../lib/client.ts';

export interface WebhookDialogProps {
  /** Null: a new one. */
  webhook: z.infer<typeof webhookSchema> | null;
  onClose: () => void;
  onMade?: (made: { webhookId: string; secret: string }) => void;
}

const USUAL: readonly EventKind[] = ['job.finished', 'job.failed'];

export function WebhookDialog({ webhook, onClose, onMade }: WebhookDialogProps) {
  const submit = async (form: FormData) => {
    const kinds = EVENT_KINDS.filter((kind) => form.get(kind) !== null);
    if (kinds.length === 0) throw new Error('Choose at least one event.');
    const given = { url: textIn(form, 'url'), description: textIn(form, 'description'), kinds };
    if (webhook === null) onMade?.(await client.createWebhook(given));
    else await client.changeWebhook({ webhookId: webhook.webhookId, ...given });
    void queries.invalidateQueries({ queryKey: ['webhooks'] });
    void queries.invalidateQueries({ queryKey: ['webhook'] });
  };
  return (
    <FormDialog
      title={webhook === null ? 'New webhook' : 'Change the webhook'}
      action={webhook === null ? 'Make it' : 'Change it'}
      onClose={onClose}
      onSubmit={submit}
    >
      <TextField
        label="Address"
        name="url"
        type="url"
        hint="Addresses inside the network of the server are refused unless it allows them."
        placeholder="https://example.com/hooks/rowmill"
        defaultValue={webhook?.url ?? ''}
        maxLength={2000}
        required
        autoFocus
      />
      <TextField
        label="Description (optional)"
        name="description"
        defaultValue={webhook?.description ?? ''}
        maxLength={500}
      />
      <fieldset>
        <legend className="mb-1 font-medium">It is told of</legend>
        <div className="grid gap-1.5 sm:grid-cols-2">
          {EVENT_KINDS.map((kind) => (
            <CheckField
              key={kind}
              name={kind}
              label={<span className="font-mono text-[13px] font-normal">{kind}</span>}
              defaultChecked={(webhook?.kinds ?? USUAL).includes(kind)}
            />
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}
