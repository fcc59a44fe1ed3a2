// Options that several commands share, and how a command ends.
import { type Command, Option } from 'commander';
import {
  amountFromZero,
  anyInteger,
  collectSetting,
  commaSeparated,
  wholeNumber,
} from '../argument-values.ts';
import { EXIT } from '../exit-codes.ts';
import { withFileOptions } from '../file-options.ts';
import { printError } from '../print-error.ts';

export function command(description: string, nameAndArguments: string, parent: Command): Command {
  return parent
    .command(nameAndArguments)
    .description(description)
    .option('--database-url <url>', 'PostgreSQL 15 or newer; default: DATABASE_URL, else an embedded server')
    .option('--data-dir <folder>', 'folder of the embedded PostgreSQL; default: .rowmill');
}

export function withApi(target: Command): Command {
  return target.option(
    '--api <url>',
    'a server to speak to; default: ROWMILL_API, else where `rowmill login` was',
  );
}

/** For commands that speak to a server as well. */
export function commandOfBoth(description: string, nameAndArguments: string, parent: Command): Command {
  return withApi(command(description, nameAndArguments, parent));
}

export function logLevel(): Option {
  const levels = ['debug', 'info', 'warn', 'error', 'silent'];
  return new Option('--log-level <level>', 'debug, info, warn, error or silent')
    .choices(levels)
    .default('info');
}

export function withSettings(target: Command): Command {
  return target.option(
    '--set <key=value>',
    'a setting of docs/configuration.md; may be repeated',
    collectSetting,
    {},
  );
}

/** Options of a new job, wherever it runs. */
export function withNewJob(target: Command): Command {
  return withFileOptions(withSettings(target))
    .option('--hold', 'create the job paused: its rows are stored, nothing runs before `rowmill resume`')
    .option('--trial <n>', 'run the first n rows, hold the rest until `rowmill resume`', wholeNumber)
    .option('--budget <amount>', 'what the job may cost; it pauses when it is reached', amountFromZero)
    .option('--budget-per-item <amount>', 'what one row may cost, over all its calls', amountFromZero)
    .option('--again', 'a new job, although this file was given before')
    .option('--update <job>', 'the file corrects that of this job: unchanged rows take over its results')
    .option('--owner <owner>', 'whose job it is; owners share the workers by weight')
    .option('--priority <n>', 'among the jobs of its owner: higher goes first', anyInteger)
    .option('--key <fields>', 'fields that name a row, separated by commas', commaSeparated);
}

/** Commander hands over (arguments…, options, command); the exit code is what the command returns. */
export function ending<Args extends unknown[]>(
  action: (...args: Args) => Promise<number>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      process.exitCode = await action(...args);
    } catch (error) {
      const options = (args.at(-1) as Command).optsWithGlobals<{ json?: boolean }>();
      printError(error, options.json === true);
      process.exitCode = EXIT.error;
    }
  };
}

/** Options of both `server` and `dev`. */
export function withServing(target: Command): Command {
  return withSettings(target)
    .option('--port <n>', 'port to listen on; the setting apiPort')
    .option('--host <address>', 'address to listen on; the setting apiHost')
    .option('--config <file>', 'JSON file with settings and sources; default: ROWMILL_CONFIG')
    .addOption(logLevel());
}
