// Creates or edits an alert or webhook: who is notified, in which format, of which events.
import { useState } from 'react';
import type { z } from 'zod';
import { EVENT_KINDS, type EventKind } from '../../../src/contract/event-kinds.ts';
import type { webhook as webhookSchema } from '../../../src/contract/webhooks.ts';
import { CheckField } from '../../components/check-field.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog, textIn } from '../../components/form-dialog.tsx';
import { SelectField } from '../../components/select-field.tsx';
import { client, queries } from '../../lib/client.ts';
import { useConfiguration } from '../../lib/configuration.ts';
import { FORMAT_WORDS, receiverOf, type WebhookFormat } from './format-words.ts';

export interface WebhookDialogProps {
  /** Null: a new webhook. */
  webhook: z.infer<typeof webhookSchema> | null;
  onClose: () => void;
  /** The secret is null unless messages are signed. */
  onCreated?: (created: { webhookId: string; secret: string | null }) => void;
}

const USUAL: Record<WebhookFormat, readonly EventKind[]> = {
  mail: ['job.finished', 'job.failed', 'job.paused', 'job.stuck'],
  slack: ['job.finished', 'job.failed', 'job.paused', 'job.stuck'],
  signed: ['job.finished', 'job.failed'],
};

/** Events that people want to know of. Programs can subscribe to all. */
const ALERT_WORDS: Partial<Record<EventKind, string>> = {
  'job.finished': 'Job finished',
  'job.failed': 'Job failed',
  'job.paused': 'Job paused or over budget',
  'job.stuck': 'Job stuck',
};

export function WebhookDialog({ webhook, onClose, onCreated }: WebhookDialogProps) {
  const canMail = useConfiguration().data?.features.mail ?? false;
  const [format, setFormat] = useState<WebhookFormat>(webhook?.format ?? (canMail ? 'mail' : 'signed'));
  const isMail = format === 'mail';
  const submit = async (form: FormData) => {
    const kinds = EVENT_KINDS.filter((kind) => form.get(kind) !== null);
    if (kinds.length === 0) throw new Error('Select at least one event.');
    const url = isMail ? `mailto:${textIn(form, 'address').trim()}` : textIn(form, 'url');
    const given = { url, description: textIn(form, 'description'), kinds };
    if (webhook === null) onCreated?.(await client.createWebhook({ ...given, format }));
    else await client.changeWebhook({ webhookId: webhook.webhookId, ...given });
    void queries.invalidateQueries({ queryKey: ['webhooks'] });
    void queries.invalidateQueries({ queryKey: ['webhook'] });
  };
  const receiver = webhook === null ? '' : receiverOf(webhook);
  return (
    <FormDialog
      title={webhook === null ? 'New alert' : `Edit ${FORMAT_WORDS[format].toLowerCase()}`}
      action={webhook === null ? 'Create' : 'Save'}
      onClose={onClose}
      onSubmit={submit}
    >
      {webhook === null && (
        <SelectField
          label="Format"
          value={format}
          onChange={({ target }) => setFormat(target.value as WebhookFormat)}
          choices={Object.entries(FORMAT_WORDS)}
          hint={
            isMail && !canMail
              ? 'This server cannot send mail: an administrator has to set smtpHost.'
              : undefined
          }
        />
      )}
      {isMail ? (
        <TextField
          key="address"
          label="Mail address"
          name="address"
          type="email"
          placeholder="ada@example.org"
          defaultValue={receiver}
          maxLength={320}
          required
        />
      ) : (
        <TextField
          key="url"
          label="URL"
          name="url"
          type="url"
          hint="Private network URLs are blocked by default."
          placeholder={
            format === 'slack' ? 'https://hooks.slack.com/services/…' : 'https://example.com/hooks/rowmill'
          }
          defaultValue={receiver}
          maxLength={2000}
          required
        />
      )}
      <TextField
        label="Description (optional)"
        name="description"
        defaultValue={webhook?.description ?? ''}
        maxLength={500}
      />
      <fieldset key={format}>
        <legend className="mb-1 font-medium">Events</legend>
        <div className="grid gap-1.5 sm:grid-cols-2">
          {EVENT_KINDS.filter((kind) => format === 'signed' || kind in ALERT_WORDS).map((kind) => (
            <CheckField
              key={kind}
              name={kind}
              label={
                format === 'signed' ? (
                  <span className="font-mono text-[13px] font-normal">{kind}</span>
                ) : (
                  <span className="font-normal">{ALERT_WORDS[kind]}</span>
                )
              }
              defaultChecked={(webhook?.kinds ?? USUAL[format]).includes(kind)}
            />
          ))}
        </div>
      </fieldset>
    </FormDialog>
  );
}
