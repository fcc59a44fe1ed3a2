// Options that several commands share, and the wrapper that sets the exit code.
import { type Command, type CommandOptions, Option } from 'commander';
import {
  amountFromZero,
  anyInteger,
  collectSetting,
  commaSeparated,
  wholeNumber,
} from '../argument-values.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { EXIT } from '../exit-codes.ts';
import { withFileOptions } from '../file-options.ts';
import { printError } from '../print-error.ts';

function withDatabase(target: Command): Command {
  return withDataFolder(
    target.option('--database-url <url>', 'PostgreSQL 15 or newer (default: DATABASE_URL, else embedded)'),
  );
}

export function withDataFolder(target: Command): Command {
  return target.option('--data-dir <folder>', 'Folder of the embedded PostgreSQL (default: .rowmill)');
}

export function withApi(target: Command): Command {
  return target.option('--api <url>', 'Server to use (default: ROWMILL_API, else the last `rowmill login`)');
}

/** For commands that work on the database and over a server. */
export function withDatabaseOrServer(target: Command): Command {
  return withApi(withDatabase(target));
}

export function command(
  description: string,
  nameAndArguments: string,
  parent: Command,
  options?: CommandOptions,
): Command {
  return withDatabase(parent.command(nameAndArguments, options).description(description));
}

export function commandOfBoth(
  description: string,
  nameAndArguments: string,
  parent: Command,
  options?: CommandOptions,
): Command {
  return withApi(command(description, nameAndArguments, parent, options));
}

export function logLevel(): Option {
  const levels = ['debug', 'info', 'warn', 'error', 'silent'];
  return new Option('--log-level <level>', 'Lowest level to log').choices(levels).default('info');
}

export function withSettings(target: Command): Command {
  return target.option(
    '--set <key=value>',
    'Setting from docs/configuration.md; repeatable',
    collectSetting,
    {},
  );
}

/** For commands whose output changes while jobs run. */
export function withWatch(target: Command, until: string): Command {
  return target.option('-w, --watch', `Show changes until ${until}`);
}

/** For commands that ask before a change that cannot be undone. */
export function withYes(target: Command): Command {
  return target.option('-y, --yes', 'Do not ask for confirmation');
}

/** Options of a new job. */
export function withNewJob(target: Command): Command {
  return withFileOptions(withSettings(target))
    .option('--hold', 'Create the job paused; its rows wait for `rowmill jobs resume`')
    .option(
      '--trial <n>',
      'Test run of the first n rows; the rest wait for `rowmill jobs resume`',
      wholeNumber,
    )
    .option('--budget <amount>', 'Maximum cost of the job, which pauses when it is reached', amountFromZero)
    .option('--budget-per-item <amount>', 'Maximum cost of one row, over all its calls', amountFromZero)
    .option('--again', 'Create a new job even if this file was submitted before')
    .option('--update <job>', 'Job whose file this one corrects; unchanged rows keep their results')
    .option('--owner <owner>', 'Owner of the job; owners share the workers by weight')
    .option('--priority <n>', "Priority among the owner's jobs; higher runs first", anyInteger)
    .option('--key <fields>', 'Fields that identify a row, separated by commas', commaSeparated);
}

/**
 * Commander calls an action with (arguments…, options, command); the action returns the exit code. The process exits
 * when the action is over and its output is written: timers and sockets that a pipeline module left open would keep
 * it alive.
 */
export function ending<Args extends unknown[]>(
  action: (...args: Args) => Promise<number>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      process.exitCode = await action(...args);
    } catch (error) {
      const options = (args.at(-1) as Command).optsWithGlobals<{ json?: boolean }>();
      printError(error, options.json === true);
      const isUsage = error instanceof RowmillError && error.code === 'USAGE_INVALID';
      process.exitCode = isUsage ? EXIT.usage : EXIT.error;
    }
    await Promise.all([written(process.stdout), written(process.stderr)]);
    process.exit();
  };
}

/** Resolves when the stream has taken everything before it, or is closed. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) resolve();
    else
      stream
        .once('close', resolve)
        .once('error', () => resolve())
        .write('', () => resolve());
  });
}

/** Options of both `server` and `dev`. */
export function withServing(target: Command): Command {
  return withSettings(target)
    .option('-p, --port <n>', 'Port to listen on (setting apiPort)')
    .option('--host <address>', 'Address to listen on (setting apiHost)')
    .option('--config <file>', 'JSON file with settings and sources (default: ROWMILL_CONFIG)')
    .addOption(logLevel())
    .option('--json', 'JSON output, one line per event');
}
