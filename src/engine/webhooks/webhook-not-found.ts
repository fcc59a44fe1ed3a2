import { RowmillError } from '../../core/errors/rowmill-error.ts';

/** Also for one that belongs to somebody else. */
export function webhookNotFound(webhookId: string): RowmillError {
  return new RowmillError('WEBHOOK_NOT_FOUND', `there is no webhook ${webhookId}`);
}
