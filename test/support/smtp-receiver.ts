// A real SMTP server on loopback that keeps the mails it takes and refuses recipients as the test wants.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { stopAfterTest } from './stop-after-test.ts';

export interface SmtpReceiver {
  readonly port: number;
  /** Raw texts with headers. */
  readonly mails: readonly string[];
  /** Users that have signed in, with their passwords. */
  readonly signedIn: readonly string[];
  /** Reply to recipients instead of taking them. */
  refuse: { code: number; message: string } | null;
}

export async function startSmtpReceiver({ port = 0 } = {}): Promise<SmtpReceiver> {
  const mails: string[] = [];
  const signedIn: string[] = [];
  const server = new SMTPServer({
    hideSTARTTLS: true,
    allowInsecureAuth: true,
    authOptional: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) => {
      signedIn.push(`${username}:${password}`);
      done(null, { user: username });
    },
    onRcptTo: (_address, _session, done) => {
      const { refuse } = receiver;
      done(refuse && Object.assign(new Error(refuse.message), { responseCode: refuse.code }));
    },
    onData: (stream, _session, done) => {
      let text = '';
      stream.on('data', (chunk) => {
        text += chunk;
      });
      stream.on('end', () => {
        mails.push(text);
        done(null, 'queued for delivery');
      });
    },
  });
  server.on('error', () => {});
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  stopAfterTest(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const receiver: SmtpReceiver = {
    port: (server.server.address() as AddressInfo).port,
    mails,
    signedIn,
    refuse: null,
  };
  return receiver;
}
