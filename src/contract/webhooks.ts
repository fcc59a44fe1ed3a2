// Webhooks: lifecycle events of jobs, sent to other programs and signed as specified by Standard Webhooks.
import { z } from 'zod';
import { eventKind } from './events.ts';
import { defineRoutes } from './route.ts';
import { flag, page, pageOf, shortPage, time } from './values.ts';

/** Signed JSON for programs, a text for chats compatible with Slack, or a mail. */
export const WEBHOOK_FORMATS = ['signed', 'slack', 'mail'] as const;
const format = z.enum(WEBHOOK_FORMATS);

export const webhook = z
  .object({
    webhookId: z.uuid(),
    ownerId: z.string(),
    format,
    /** For mail, `mailto:` and the address. */
    url: z.string(),
    kinds: z.array(eventKind),
    description: z.string(),
    state: z.enum(['ACTIVE', 'DISABLED']),
    /** Why it was disabled automatically; null if a user disabled it or it is active. */
    disabledBecause: z.string().nullable(),
    /** Account that created it; disabling the account disables the webhook. Null if not recorded. */
    createdBy: z.string().nullable(),
    createdAt: time,
    lastDeliveredAt: time.nullable(),
  })
  .meta({ id: 'Webhook' });

export const delivery = z
  .object({
    deliveryId: z.uuid(),
    webhookId: z.uuid(),
    kind: z.string(),
    jobId: z.string().nullable(),
    /** The webhook-id header: the same for all attempts. */
    messageId: z.string(),
    state: z.enum(['PENDING', 'DELIVERED', 'DEAD']),
    attempts: z.number(),
    nextAttemptAt: time.nullable(),
    lastStatus: z.number().nullable(),
    lastError: z.string().nullable(),
    lastMs: z.number().nullable(),
    createdAt: time,
    deliveredAt: time.nullable(),
  })
  .meta({ id: 'Delivery' });

/** One attempt to deliver a message, as far as its result was recorded. */
const deliveryAttempt = z.object({
  attempt: z.number(),
  at: time,
  /** Headers as sent; the signature is replaced by dots. */
  headers: z.record(z.string(), z.string()),
  status: z.number().nullable(),
  error: z.string().nullable(),
  ms: z.number(),
  /** Beginning of the body of the response; null without a response. */
  response: z.string().nullable(),
});

export const deliveryDetail = delivery
  .extend({
    url: z.string(),
    /** The body as sent, the same for all attempts. */
    payload: z.string(),
    /** The last 20 attempts, oldest first. */
    log: z.array(deliveryAttempt),
  })
  .meta({ id: 'DeliveryDetail' });

const params = z.object({ webhookId: z.uuid() });
const manage = { access: 'member', scope: 'write' } as const;
const url = z.string().min(1).max(2000);
const kinds = z.array(eventKind).min(1).max(20);

export const webhookRoutes = defineRoutes({
  listWebhooks: {
    method: 'GET',
    path: '/api/webhooks',
    summary: "The caller's webhooks.",
    access: 'viewer',
    scope: 'read',
    query: z.strictObject({ all: flag.optional(), ...shortPage }),
    pagedBy: ['webhookId'],
    answer: { status: 200, schema: pageOf(webhook) },
    errors: ['FORBIDDEN', 'CURSOR_INVALID'],
  },
  createWebhook: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/webhooks',
    summary: 'Create a webhook. Its secret is shown only once, and is null unless messages are signed.',
    ...manage,
    body: z.strictObject({
      /** Default: mail if the URL starts with mailto:, otherwise signed. */
      format: format.optional(),
      url,
      kinds: kinds.default(['job.finished', 'job.failed']),
      description: z.string().max(500).default(''),
    }),
    answer: { status: 201, schema: webhook.extend({ secret: z.string().nullable() }) },
    errors: ['WEBHOOK_URL_REFUSED', 'QUOTA_EXCEEDED', 'BLOB_STORE_UNAVAILABLE', 'SETTINGS_INVALID'],
  },
  getWebhook: {
    method: 'GET',
    path: '/api/webhooks/:webhookId',
    summary: 'One webhook.',
    access: 'viewer',
    scope: 'read',
    params,
    answer: { status: 200, schema: webhook },
    errors: ['WEBHOOK_NOT_FOUND'],
  },
  changeWebhook: {
    method: 'PATCH',
    path: '/api/webhooks/:webhookId',
    summary: 'Change the URL or events of a webhook, or disable it.',
    ...manage,
    params,
    body: z.strictObject({
      url: url.optional(),
      kinds: kinds.optional(),
      description: z.string().max(500).optional(),
      state: z.enum(['ACTIVE', 'DISABLED']).optional(),
    }),
    answer: { status: 200, schema: webhook },
    errors: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_URL_REFUSED'],
  },
  deleteWebhook: {
    method: 'DELETE',
    path: '/api/webhooks/:webhookId',
    summary: 'Delete a webhook and its deliveries.',
    ...manage,
    params,
    answer: { status: 204, schema: null },
    errors: ['WEBHOOK_NOT_FOUND'],
  },
  rotateWebhookSecret: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/webhooks/:webhookId/secret',
    summary: 'Rotate the secret. Messages are signed with both secrets for a day.',
    ...manage,
    params,
    answer: { status: 200, schema: z.object({ secret: z.string() }) },
    errors: [
      'WEBHOOK_NOT_FOUND',
      'WEBHOOK_URL_REFUSED',
      'CONFIRMATION_REQUIRED',
      'BLOB_STORE_UNAVAILABLE',
      'SETTINGS_INVALID',
    ],
  },
  testWebhook: {
    method: 'POST',
    path: '/api/webhooks/:webhookId/test',
    summary: 'Send a test message now and return the result.',
    ...manage,
    params,
    answer: { status: 200, schema: delivery },
    errors: ['WEBHOOK_NOT_FOUND'],
  },
  listDeliveries: {
    method: 'GET',
    path: '/api/webhooks/:webhookId/deliveries',
    summary: 'Deliveries of a webhook, newest first.',
    access: 'viewer',
    scope: 'read',
    params,
    query: z.strictObject({ state: z.enum(['PENDING', 'DELIVERED', 'DEAD']).optional(), ...page }),
    answer: { status: 200, schema: pageOf(delivery) },
    errors: ['WEBHOOK_NOT_FOUND', 'CURSOR_INVALID'],
  },
  getDelivery: {
    method: 'GET',
    path: '/api/webhooks/:webhookId/deliveries/:deliveryId',
    summary: 'One delivery: payload, headers and attempts with responses.',
    access: 'viewer',
    scope: 'read',
    params: params.extend({ deliveryId: z.uuid() }),
    answer: { status: 200, schema: deliveryDetail },
    errors: ['WEBHOOK_NOT_FOUND', 'DELIVERY_NOT_FOUND'],
  },
  resendDelivery: {
    method: 'POST',
    path: '/api/webhooks/:webhookId/deliveries/:deliveryId/resend',
    summary: 'Resend a message with the same id.',
    ...manage,
    params: params.extend({ deliveryId: z.uuid() }),
    answer: { status: 202, schema: delivery },
    errors: ['WEBHOOK_NOT_FOUND', 'DELIVERY_NOT_FOUND'],
  },
});
