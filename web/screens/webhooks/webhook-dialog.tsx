// Creates or edits a webhook: URL and events.
import type { z } from 'zod';
import { EVENT_KINDS, type EventKind } from '../../../src/contract/event-kinds.ts';
import type { webhook as webhookSchema } from '../../../src/contract/webhooks.ts';
import { CheckField } from '../../components/check-field.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog, textIn } from '../../components/form-dialog.tsx';
import { client, queries } from '../../lib/client.ts';

export interface WebhookDialogProps {
  /** Null: a new webhook. */
  webhook: z.infer<typeof webhookSchema> | null;
  onClose: () => void;
  onCreated?: (created: { webhookId: string; secret: string }) => void;
}

const USUAL: readonly EventKind[] = ['job.finished', 'job.failed'];

export function WebhookDialog({ webhook, onClose, onCreated }: WebhookDialogProps) {
  const submit = async (form: FormData) => {
    const kinds = EVENT_KINDS.filter((kind) => form.get(kind) !== null);
    if (kinds.length === 0) throw new Error('Select at least one event.');
    const given = { url: textIn(form, 'url'), description: textIn(form, 'description'), kinds };
    if (webhook === null) onCreated?.(await client.createWebhook(given));
    else await client.changeWebhook({ webhookId: webhook.webhookId, ...given });
    void queries.invalidateQueries({ queryKey: ['webhooks'] });
    void queries.invalidateQueries({ queryKey: ['webhook'] });
  };
  return (
    <FormDialog
      title={webhook === null ? 'New webhook' : 'Edit webhook'}
      action={webhook === null ? 'Create' : 'Save'}
      onClose={onClose}
      onSubmit={submit}
    >
      <TextField
        label="URL"
        name="url"
        type="url"
        hint="Private network URLs are blocked by default."
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
        <legend className="mb-1 font-medium">Events</legend>
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
