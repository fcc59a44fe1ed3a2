// rowmill keys and rowmill open: commands that need a server.
import type { Scope } from '../../contract/scopes.ts';
import { confirm, type ConfirmOptions } from '../confirm.ts';
import { printable } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import { clientPort } from '../remote/client-port.ts';
import { withServer } from '../remote/with-server.ts';
import { startBrowser } from '../start-browser.ts';
import { textTable } from '../text-table.ts';

export interface KeysOptions extends TargetOptions {
  json?: boolean;
  all?: boolean;
}

export interface NewKeyOptions extends KeysOptions {
  scopes?: string[];
  days?: number | 'none';
}

export async function listKeysOf(options: KeysOptions): Promise<number> {
  return withServer(options, 'keys', async (client) => {
    const { items } = await client.listKeys({ all: options.all });
    if (options.json) console.log(JSON.stringify(items));
    else if (items.length === 0) console.log('No keys. Create one with: rowmill keys create <name>');
    else {
      const day = (time: string | null, none: string): string => time?.slice(0, 10) ?? none;
      const headers = ['Key', 'Name', 'User', 'Scopes', 'Created', 'Expires', 'Last used', 'State'];
      const rows = items.map((key) => [
        key.keyId,
        key.name,
        key.userId,
        key.scopes.join(','),
        day(key.createdAt, ''),
        day(key.expiresAt, 'never'),
        day(key.lastUsedAt, 'never'),
        key.revokedAt === null ? 'valid' : 'revoked',
      ]);
      console.log(textTable(headers, rows).join('\n'));
    }
    return 0;
  });
}

export async function createKeyOf(name: string, options: NewKeyOptions): Promise<number> {
  return withServer(options, 'keys', async (client) => {
    const { scopes, days } = options;
    const made = await client.createKey({
      name,
      ...(scopes && { scopes: scopes as Scope[] }),
      ...(days !== undefined && { days: days === 'none' ? null : days }),
    });
    if (options.json) console.log(JSON.stringify(made));
    else {
      console.error(`Key ${made.keyId} (${made.scopes.join(', ')}). Copy it now; it is not shown again:`);
      console.log(made.key);
    }
    return 0;
  });
}

export async function revokeKeyOf(keyId: string, options: KeysOptions & ConfirmOptions): Promise<number> {
  return withServer(options, 'keys', async (client) => {
    await confirm(
      `Revoke key ${printable(keyId)}?`,
      'Programs that use it are refused from now on. A revoked key cannot be restored.',
      options,
    );
    await client.revokeKey({ keyId });
    console.log(options.json ? JSON.stringify({ keyId, revoked: true }) : `Key ${keyId} is revoked`);
    return 0;
  });
}

export interface OpenOptions extends TargetOptions {
  /** Commander's --print. */
  print?: boolean;
  json?: boolean;
}

export async function openWebPage(prefix: string | undefined, options: OpenOptions): Promise<number> {
  return withServer(options, 'pages', async (client, url) => {
    const job = prefix === undefined ? null : await clientPort(client, url).findJob(prefix);
    const address = job === null ? `${url}/` : `${url}/jobs/${job.jobId}`;
    console.log(options.json ? JSON.stringify({ url: address }) : address);
    if (!options.print) startBrowser(address);
    return 0;
  });
}
