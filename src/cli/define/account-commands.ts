// Commands for servers: sign in, API keys, the web page.
import type { Command } from 'commander';
import { commaSeparated, wholeNumber, wholeNumberOrNone } from '../argument-values.ts';
import { ending, withApi, withYes } from './command-parts.ts';

export function defineAccountCommands(program: Command): void {
  program
    .command('login [url]')
    .description('Sign in to a server with a password or an API key')
    .option('-u, --user <name>', 'User name (default: ask)')
    .option('--key-file <file>', 'File with an API key, used in place of a password')
    .option('--scopes <scopes>', 'Scopes of the new key (default: read,write,export)', commaSeparated)
    .option('--days <n>', 'Days until the new key expires (default: 90)', wholeNumber)
    .option('--json', 'JSON output')
    .action(
      ending(async (url: string | undefined, options) =>
        (await import('../commands/login.ts')).login(url, options),
      ),
    );

  program
    .command('logout [url]')
    .description('Sign out of a server and revoke the key that login created')
    .option('--json', 'JSON output')
    .action(
      ending(async (url: string | undefined, options) =>
        (await import('../commands/login.ts')).logout(url, options),
      ),
    );

  const keys = withApi(
    program.command('keys').description('API keys of a server: list, create, revoke'),
  ).option('--json', 'JSON output');

  keys
    .command('list', { isDefault: true })
    .description('List API keys of a server')
    .option('-a, --all', 'Keys of all users; administrators only')
    .action(
      ending(async (_, list: Command) =>
        (await import('../commands/keys.ts')).listKeysOf(list.optsWithGlobals()),
      ),
    );

  keys
    .command('create <name>')
    .description('Create an API key and print it once')
    .option('--scopes <scopes>', 'Scopes: read, write, export, admin (default: read)', commaSeparated)
    .option('--days <n|none>', 'Days until the key expires (default: 90)', wholeNumberOrNone)
    .action(
      ending(async (name: string, _, create: Command) =>
        (await import('../commands/keys.ts')).createKeyOf(name, create.optsWithGlobals()),
      ),
    );

  withYes(keys.command('revoke <key>'))
    .description('Revoke an API key immediately')
    .action(
      ending(async (key: string, _, revoke: Command) =>
        (await import('../commands/keys.ts')).revokeKeyOf(key, revoke.optsWithGlobals()),
      ),
    );

  withApi(program.command('open [job]').description('Open the web page of a server or a job in the browser'))
    .option('--print', 'Print the address only')
    .option('--json', 'JSON output')
    .action(
      ending(async (job: string | undefined, options) =>
        (await import('../commands/keys.ts')).openWebPage(job, options),
      ),
    );
}
