// Sends mail through the SMTP server of the settings. The client is an optional package, loaded with the first mail.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { monotonicMs } from './clock.ts';
import type { Settings } from './settings.ts';

const TLS_MODES = ['starttls', 'tls', 'none'];

export interface Mail {
  to: string;
  subject: string;
  text: string;
  /** The same for all attempts, so that mail programs can recognise a duplicate. */
  messageId: string;
  timeoutMs: number;
}

export interface MailAnswer {
  /** SMTP reply code. */
  status: number;
  ms: number;
  /** The reply of the server. */
  body: string;
}

type MailSettings = Pick<
  Settings,
  'smtpHost' | 'smtpPort' | 'smtpUser' | 'smtpPassword' | 'smtpFrom' | 'smtpTls'
>;

export function canSendMail({ smtpHost }: MailSettings): boolean {
  return smtpHost !== 'none';
}

/** Refuses settings with which no mail can be sent. */
export function checkMailSettings(settings: MailSettings): void {
  const { smtpFrom, smtpTls, smtpUser, smtpPassword } = settings;
  if (!canSendMail(settings)) return;
  if (smtpFrom === 'none') throw invalid('expected smtpFrom to be set, because smtpHost is');
  if (!TLS_MODES.includes(smtpTls))
    throw invalid(`expected smtpTls to be one of ${TLS_MODES.join(', ')}, got ${smtpTls}`);
  if ((smtpUser === 'none') !== (smtpPassword === 'none'))
    throw invalid('expected smtpUser and smtpPassword to be set together');
}

/** Rejects if the server did not take the mail. `isRefusedForGood` recognises a recipient that it does not want. */
export async function sendMail(settings: MailSettings, mail: Mail): Promise<MailAnswer> {
  const { smtpHost, smtpPort, smtpUser, smtpPassword, smtpFrom, smtpTls } = settings;
  const { createTransport } = await loadPackage();
  const { timeoutMs, to, subject, text, messageId } = mail;
  const startedMs = monotonicMs();
  const transport = createTransport({
    host: smtpHost,
    port: smtpPort,
    secure: smtpTls === 'tls',
    requireTLS: smtpTls === 'starttls',
    ignoreTLS: smtpTls === 'none',
    ...(smtpUser !== 'none' && { auth: { user: smtpUser, pass: smtpPassword } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const headers = { 'Auto-Submitted': 'auto-generated' };
  const { response } = await transport.sendMail({ from: smtpFrom, to, subject, text, messageId, headers });
  return { status: codeOf(response), ms: monotonicMs() - startedMs, body: response };
}

/** The server answered, and will not take this recipient or this mail later either. */
export function isRefusedForGood(error: unknown): boolean {
  const { code, responseCode } = error as { code?: string; responseCode?: number };
  return (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode !== undefined && responseCode >= 500;
}

/** The reply of a server that did not take the mail; null if it gave none. */
export function replyOf(error: unknown): { status: number; body: string } | null {
  const { response } = error as { response?: string };
  return response === undefined ? null : { status: codeOf(response), body: response };
}

function codeOf(response: string): number {
  return Number.parseInt(response, 10) || 0;
}

async function loadPackage(): Promise<typeof import('nodemailer')> {
  try {
    return await import('nodemailer');
  } catch (cause) {
    throw new RowmillError('SETTINGS_INVALID', 'the package nodemailer is not installed', {
      hint: 'npm install nodemailer',
      cause,
    });
  }
}

function invalid(message: string): RowmillError {
  return new RowmillError('SETTINGS_INVALID', message, { hint: 'See docs/webhooks.md#mail-and-chat.' });
}
