#!/usr/bin/env node
// The command line: arguments in, exit code out. Each command has its own file.
import { Command, InvalidArgumentError } from 'commander';
import { VERSION } from '../platform/version.ts';
import { doctor } from './commands/doctor.ts';
import { exportResults } from './commands/export.ts';
import { migrateDatabase } from './commands/migrate.ts';
import { run } from './commands/run.ts';
import { status } from './commands/status.ts';
import { runWorkers } from './commands/worker.ts';
import { printError } from './print-error.ts';

const program = new Command('rowmill')
  .description('Runs every row of a file through slow, paid, rate-limited TypeScript code.')
  .version(VERSION)
  .showHelpAfterError('(add --help for the options)');

function command(description: string, nameAndArguments: string): Command {
  return program
    .command(nameAndArguments)
    .description(description)
    .option('--database-url <url>', 'PostgreSQL 15 or newer; default: DATABASE_URL, else an embedded server')
    .option('--data-dir <folder>', 'folder of the embedded PostgreSQL', '.rowmill');
}

function withSettings(target: Command): Command {
  return target.option(
    '--set <key=value>',
    'a setting of docs/configuration.md; may be repeated',
    collectSetting,
    {},
  );
}

function collectSetting(pair: string, settings: Record<string, unknown> = {}): Record<string, unknown> {
  const at = pair.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('expected key=value');
  return { ...settings, [pair.slice(0, at)]: pair.slice(at + 1) };
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('expected a whole number from 1');
  return value;
}

/** Commander hands over (arguments…, options, command); the exit code is what the command returns. */
function ending<Args extends unknown[]>(
  action: (...args: Args) => Promise<number>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    try {
      process.exitCode = await action(...args);
    } catch (error) {
      const options = args.find(
        (arg): arg is Args[number] & { json?: boolean } => typeof arg === 'object' && arg !== null,
      );
      printError(error, options?.json === true);
      process.exitCode = 1;
    }
  };
}

withSettings(
  command('store the rows of a file, process them here, and show the summary', 'run <pipeline> [file]'),
)
  .option('--follow', 'show live progress')
  .option('--out <file>', 'write the results to this file (.csv or .jsonl)')
  .option('--no-worker', 'leave the work to other processes')
  .option('--resume <job>', 'go on with a job that was stopped')
  .addHelpText(
    'after',
    '\nExample:\n  rowmill run examples/price-lookup/pipeline.ts products.csv --follow --out priced.csv',
  )
  .action(ending((pipeline: string, file: string | undefined, options) => run(pipeline, file, options)));

withSettings(command('run worker processes until stopped', 'worker <pipelines...>'))
  .option('--processes <n>', 'worker processes', wholeNumber, 1)
  .option('--log-level <level>', 'debug, info, warn, error or silent', 'info')
  .action(ending((modules: string[], options) => runWorkers(modules, options)));

withSettings(command('develop: an embedded PostgreSQL and a worker in one command', 'dev <pipelines...>'))
  .option('--log-level <level>', 'debug, info, warn, error or silent', 'info')
  .action(ending((modules: string[], options) => runWorkers(modules, options)));

command('show jobs, or one of them', 'status [job]')
  .option('--json', 'print JSON')
  .option('--limit <n>', 'how many jobs', wholeNumber, 20)
  .action(ending((job: string | undefined, options) => status(job, options)));

command('write the results of a job to a file', 'export <job>')
  .requiredOption('--out <file>', '.csv or .jsonl')
  .action(ending((job: string, options) => exportResults(job, options)));

command('check the invariants on a live database', 'doctor')
  .option('--json', 'print JSON')
  .option('--job <job>', 'check one job')
  .option('--budget-ms <ms>', 'time for each invariant', wholeNumber)
  .option('--max-jobs <n>', 'newest jobs that are looked at', wholeNumber)
  .action(ending((options) => doctor(options)));

command('bring the database to the schema of this version', 'migrate').action(
  ending((options) => migrateDatabase(options)),
);

await program.parseAsync();
