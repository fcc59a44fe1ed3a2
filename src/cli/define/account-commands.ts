// Commands on servers: signing in, API keys, the page in the browser.
import type { Command } from 'commander';
import { commaSeparated, wholeNumber, wholeNumberOrNone } from '../argument-values.ts';
import { ending, withApi } from './command-parts.ts';

export function defineAccountCommands(program: Command): void {
  program
    .command('login [url]')
    .description('sign in to a server: with a password, or with an API key from a file or standard input')
    .option('--user <name>', 'who; asked for when it is left out')
    .option('--key-file <file>', 'a file that holds an API key, instead of a password')
    .option('--scopes <scopes>', 'what the new key may do; default: read,write,export', commaSeparated)
    .option('--days <n>', 'days until the new key ends; default: 90', wholeNumber)
    .action(
      ending(async (url: string | undefined, options) =>
        (await import('../commands/login.ts')).login(url, options),
      ),
    );

  program
    .command('logout [url]')
    .description('forget the key for a server, and end it there')
    .action(ending(async (url: string | undefined) => (await import('../commands/login.ts')).logout(url)));

  const keys = withApi(program.command('keys').description('list API keys of a server'))
    .option('--all', 'of everybody; for administrators')
    .option('--json', 'print JSON')
    .action(ending(async (options) => (await import('../commands/keys.ts')).listKeysOf(options)));

  keys
    .command('create <name>')
    .description('make an API key; it is shown this once')
    .option('--scopes <scopes>', 'of read, write, export and admin; default: read', commaSeparated)
    .option('--days <n|none>', 'days until it ends; default: 90', wholeNumberOrNone)
    .action(
      ending(async (name: string, _, create: Command) =>
        (await import('../commands/keys.ts')).createKeyOf(name, create.optsWithGlobals()),
      ),
    );

  keys
    .command('revoke <key>')
    .description('end an API key at once')
    .action(
      ending(async (key: string, _, revoke: Command) =>
        (await import('../commands/keys.ts')).revokeKeyOf(key, revoke.optsWithGlobals()),
      ),
    );

  withApi(
    program.command('open [job]').description('open the page of a server, or of a job there, in the browser'),
  )
    .option('--print', 'only print the address')
    .action(
      ending(async (job: string | undefined, options) =>
        (await import('../commands/keys.ts')).openWebPage(job, options),
      ),
    );
}
