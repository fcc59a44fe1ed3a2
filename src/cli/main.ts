#!/usr/bin/env node
// The command line: arguments in, exit code out. Each command has its own file, loaded only when it is asked for.
import { Argument, Command, Option } from 'commander';
import { OUTPUT_FORMATS } from '../core/files/output-format.ts';
import { VERSION } from '../platform/version.ts';
import {
  amountFromZero,
  amountOrNone,
  anyInteger,
  collectSetting,
  commaSeparated,
  jobStates,
  parseJsonObject,
  numberFrom,
  parseDuration,
  portNumber,
  trueOrFalse,
  wholeNumber,
  wholeNumberOrNone,
} from './argument-values.ts';
import { printCompletion, SHELLS, type Shell } from './commands/completion.ts';
import type { SimpleAction } from './commands/control.ts';
import { EXIT } from './exit-codes.ts';
import { withFileOptions } from './file-options.ts';
import { printError } from './print-error.ts';
import { withRowFilter } from './row-filter-options.ts';

const CONTROL_COMMANDS: readonly (readonly [SimpleAction, string])[] = [
  ['pause', 'start nothing more of a job; what runs ends and is kept'],
  ['resume', 'go on with a paused job, or release the rest of a trial'],
  ['cancel', 'end a job: what has no result is cancelled, and the rest is kept'],
];

const program = new Command('rowmill')
  .description('Runs every row of a file through slow, paid, rate-limited TypeScript code.')
  .version(VERSION)
  .showHelpAfterError('(add --help for the options)')
  // Before the commands: they inherit it.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));

function command(description: string, nameAndArguments: string, parent: Command = program): Command {
  return parent
    .command(nameAndArguments)
    .description(description)
    .option('--database-url <url>', 'PostgreSQL 15 or newer; default: DATABASE_URL, else an embedded server')
    .option('--data-dir <folder>', 'folder of the embedded PostgreSQL; default: .rowmill');
}

function withApi(target: Command): Command {
  return target.option(
    '--api <url>',
    'a server to speak to; default: ROWMILL_API, else where `rowmill login` was',
  );
}

/** For commands that speak to a server as well. */
function commandOfBoth(description: string, nameAndArguments: string): Command {
  return withApi(command(description, nameAndArguments));
}

function logLevel(): Option {
  const levels = ['debug', 'info', 'warn', 'error', 'silent'];
  return new Option('--log-level <level>', 'debug, info, warn, error or silent')
    .choices(levels)
    .default('info');
}

function withSettings(target: Command): Command {
  return target.option(
    '--set <key=value>',
    'a setting of docs/configuration.md; may be repeated',
    collectSetting,
    {},
  );
}

/** What is said about a new job, wherever it runs. */
function withNewJob(target: Command): Command {
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
function ending<Args extends unknown[]>(
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

withNewJob(
  command('store the rows of a file, process them here, and show the summary', 'run <pipeline> [files...]'),
)
  .option('--follow', 'show live progress')
  .option('--out <file>', 'write the results to this file (.csv, .xlsx or .jsonl)')
  .option('--params <json>', 'parameters of the pipeline, as a JSON object', parseJsonObject)
  .option('--no-worker', 'leave the work to other processes')
  .option(
    '--resume <job>',
    'continue a job that was stopped, paused or held; --budget and --budget-per-item change its budgets',
  )
  .addHelpText(
    'after',
    '\nExample:\n  rowmill run examples/price-lookup/pipeline.ts products.csv --follow --out priced.csv',
  )
  .action(
    ending(async (pipeline: string, files: string[], options) =>
      (await import('./commands/run.ts')).run(pipeline, files, options),
    ),
  );

withNewJob(commandOfBoth('make a job of a file; workers that run elsewhere do the rest', 'submit <file>'))
  .requiredOption(
    '--pipeline <pipeline>',
    'over a server its name, on the database its module such as ./prices.ts#prices',
  )
  .option('--follow', 'show live progress until the job has ended; Ctrl-C leaves it running')
  .option('--name <name>', "name of the job; default: the file's")
  .option('--params <json>', 'parameters of the pipeline, as a JSON object', parseJsonObject)
  .option('--outputs <formats>', 'files that the job leaves when it ends, such as csv,xlsx', commaSeparated)
  .option('--idempotency-key <key>', 'the same key again is the same job, whatever the file')
  .option('--json', 'print JSON; with --follow a line per change')
  .addHelpText('after', '\nExample:\n  rowmill submit products.csv --pipeline price-lookup --follow')
  .action(
    ending(async (file: string, options) => (await import('./commands/submit.ts')).submit(file, options)),
  );

withFileOptions(
  withSettings(
    program.command('inspect <file>').description('show how a file would be read; nothing is stored'),
  ),
)
  .option('--pipeline <pipeline>', "map the columns to this pipeline's input and check the rows against it")
  .option('--rows <n>', 'rows to show', wholeNumber, 5)
  .option('--json', 'print JSON')
  .action(
    ending(async (file: string, options) => (await import('./commands/inspect.ts')).inspect(file, options)),
  );

withSettings(command('run worker processes until stopped', 'worker <pipelines...>'))
  .option('--processes <n>', 'worker processes', wholeNumber, 1)
  .option(
    '--metrics-port <n>',
    'serve /metrics and /healthz; further processes take the next ports',
    portNumber,
  )
  .option('--metrics-host <address>', 'address to serve them on; default: 127.0.0.1')
  .addOption(logLevel())
  .action(
    ending(async (modules: string[], options) =>
      (await import('./commands/worker.ts')).runWorkers(modules, options),
    ),
  );

/** What `server` and `dev` have in common. */
function withServing(target: Command): Command {
  return withSettings(target)
    .option('--port <n>', 'port to listen on; the setting apiPort')
    .option('--host <address>', 'address to listen on; the setting apiHost')
    .option('--config <file>', 'JSON file with settings and sources; default: ROWMILL_CONFIG')
    .addOption(logLevel());
}

withServing(command('serve the web page and the HTTP API until stopped', 'server <pipelines...>')).action(
  ending(async (modules: string[], options) =>
    (await import('./commands/server.ts')).runServer(modules, options),
  ),
);

withServing(
  command(
    'develop: an embedded PostgreSQL, the web page with the HTTP API, and a worker in one command',
    'dev <pipelines...>',
  ),
).action(
  ending(async (modules: string[], options) =>
    (await import('./commands/server.ts')).runDev(modules, options),
  ),
);

withSettings(command('work on one job here for a while; repeat it to the end', 'slice <job> <pipelines...>'))
  .option('--duration <time>', 'such as 200ms, 5s or 1m', parseDuration, 5000)
  .option('--json', 'print JSON')
  .action(
    ending(async (job: string, modules: string[], options) =>
      (await import('./commands/slice.ts')).slice(job, modules, options),
    ),
  );

for (const [action, description] of CONTROL_COMMANDS) {
  const control = withSettings(commandOfBoth(description, `${action} <job>`)).option('--json', 'print JSON');
  if (action === 'resume') {
    control
      .option('--budget <amount>', 'what the job may cost from now on, over all', amountFromZero)
      .option('--budget-per-item <amount>', 'what one row may cost from now on', amountFromZero);
  }
  control.action(
    ending(async (job: string, options) =>
      (await import('./commands/control.ts')).controlJob(action, job, options),
    ),
  );
}

commandOfBoth('show jobs, or one of them', 'status [job]')
  .option('--json', 'print JSON')
  .option('--limit <n>', 'how many jobs', wholeNumber, 20)
  .action(
    ending(async (job: string | undefined, options) =>
      (await import('./commands/status.ts')).status(job, options),
    ),
  );

commandOfBoth('list jobs, the newest first', 'jobs')
  .option('--state <states>', 'only jobs in these states, such as RUNNING,PAUSED', jobStates)
  .option('--pipeline <name>', 'only jobs of this pipeline')
  .option('--search <text>', 'only jobs whose name or id has this')
  .option('--limit <n>', 'how many jobs', wholeNumber, 20)
  .option('--json', 'print JSON')
  .action(ending(async (options) => (await import('./commands/jobs.ts')).listJobsOf(options)));

withRowFilter(commandOfBoth('list rows of a job, in the order of its file', 'items <job>'))
  .option('--limit <n>', 'how many rows', wholeNumber, 50)
  .option('--json', 'print JSON')
  .action(
    ending(async (job: string, options) => (await import('./commands/jobs.ts')).listItemsOf(job, options)),
  );

commandOfBoth('list the failures of a job by group, the largest first', 'errors <job>')
  .option('--limit <n>', 'how many groups', wholeNumber, 50)
  .option('--json', 'print JSON')
  .action(
    ending(async (job: string, options) => (await import('./commands/jobs.ts')).listErrorsOf(job, options)),
  );

commandOfBoth('show live progress of a job until it has ended; Ctrl-C leaves it running', 'watch <job>')
  .option('--json', 'print a JSON line per change')
  .action(
    ending(async (job: string, options) => (await import('./commands/watch.ts')).watchJob(job, options)),
  );

commandOfBoth('list worker processes', 'workers')
  .option('--json', 'print JSON')
  .action(ending(async (options) => (await import('./commands/jobs.ts')).listWorkersOf(options)));

const resources = commandOfBoth('show services with limits, and what of them is used', 'resources [name]')
  .option('--json', 'print JSON')
  .option('--limit <n>', 'how many keys', wholeNumber, 100)
  .option('--watch', 'print it every second until stopped')
  .action(
    ending(async (name: string | undefined, options) =>
      (await import('./commands/resources.ts')).showResources(name, options),
    ),
  );

resources
  .command('set <name>')
  .description('change what a service may be used for while things run; workers hear of it within a second')
  .option('--key <key>', 'of this key only; default: all keys of the resource')
  .option('--rate <n>', 'calls that may start per second', numberFrom(0, true))
  .option('--concurrency <n>', 'calls at once', wholeNumber)
  .option('--min-delay <ms>', 'between the starts of two calls with the same key', numberFrom(0))
  .option('--adaptive <true|false>', 'follow what the service answers', trueOrFalse)
  .option('--pause', 'start no call until --resume')
  .option('--resume', 'take back --pause')
  .option('--clear', 'what is declared counts again')
  .action(
    ending(async (name: string, _, set: Command) =>
      (await import('./commands/resources.ts')).setResource(name, set.optsWithGlobals()),
    ),
  );

const owners = command('show owners with open jobs, their weights and limits', 'owners')
  .option('--json', 'print JSON')
  .option('--limit <n>', 'how many owners', wholeNumber, 1000)
  .action(ending(async (options) => (await import('./commands/owners.ts')).showOwners(options)));

owners
  .command('set <owner>')
  .description('change what an owner may have of the workers')
  .option('--weight <n>', 'shares of busy workers, from 1 to 1000', wholeNumber)
  .option('--max-jobs <n|none>', 'jobs that run at once', wholeNumberOrNone)
  .option('--max-items <n|none>', 'items under way at once, over all workers', wholeNumberOrNone)
  .option('--budget <amount|none>', 'what all jobs of the owner together may cost', amountOrNone)
  .option('--budget-per-day <amount|none>', 'what they may cost on one day, in UTC', amountOrNone)
  .action(
    ending(async (owner: string, _, set: Command) =>
      (await import('./commands/owners.ts')).setOwnerOf(owner, set.optsWithGlobals()),
    ),
  );

command('show what was changed by hand, newest first', 'audit [subject]')
  .option('--json', 'print JSON')
  .option('--limit <n>', 'how many entries', wholeNumber, 50)
  .action(
    ending(async (subject: string | undefined, options) =>
      (await import('./commands/owners.ts')).showAudit(subject, options),
    ),
  );

const counters = command('show counters with their totals', 'counters')
  .option('--json', 'print JSON')
  .action(ending(async (options) => (await import('./commands/counters.ts')).showCounters(options)));

counters
  .command('check [counter]')
  .alias('audit')
  .description('compare counters with what was contributed to them, while workers go on')
  .option('--repair', 'set what has drifted to what was contributed')
  .option('--budget-ms <ms>', 'time for it; default: until all is compared', wholeNumber)
  .action(
    ending(async (counter: string | undefined, _, check: Command) =>
      (await import('./commands/counters.ts')).checkCountersOf(counter, check.optsWithGlobals()),
    ),
  );

const withSource = (target: Command): Command =>
  withSettings(target)
    .option('--config <file>', 'JSON file with the sources; default: ROWMILL_CONFIG')
    .option('--json', 'print JSON lines');

withSource(command('turn the files of the configured sources into jobs, once', 'scan <pipelines...>')).action(
  ending(async (modules: string[], options) =>
    (await import('./commands/scan.ts')).runScan(modules, options),
  ),
);

const sources = program.command('sources').description('files that are fetched: docs/sources.md');
withSource(
  command('keep turning the files of the configured sources into jobs', 'watch <pipelines...>', sources),
).action(
  ending(async (modules: string[], options) =>
    (await import('./commands/scan.ts')).watchSourcesUntilStopped(modules, options),
  ),
);

withRowFilter(
  withSettings(
    commandOfBoth('run rows of a finished job again; default: those that failed', 'reprocess <job>'),
  ),
)
  .option('--all', 'the whole job, whatever its rows ended in')
  .option('--rows <seqs>', 'these rows, such as 0-99,250; counted from 0')
  .option('--edits <file>', 'JSON lines {"seq": 3, "input": {…}}: rows with a corrected input')
  .option('--include-permanent', 'also failures that would repeat (permanent, invalid)')
  .option('--max-attempts <n>', 'leave out rows that were tried this often; not over a server', wholeNumber)
  .option('--reset-attempts', 'also rows that were tried too often')
  .option('--from <phase>', 'begin at this phase; default: where each row failed')
  .option('--json', 'print JSON')
  .action(
    ending(async (job: string, options) => (await import('./commands/reprocess.ts')).reprocess(job, options)),
  );

withRowFilter(withSettings(commandOfBoth('write the results of a job to a file', 'export <job>')))
  .requiredOption('--out <file>', 'the ending says the format: .csv, .xlsx or .jsonl; -: standard output')
  .addOption(new Option('--format <format>', 'instead of what the ending says').choices(OUTPUT_FORMATS))
  .option('--failed', "failed rows in the file's own form, to be corrected and given again")
  .option('--rejected', 'rows of the file that could not be read')
  .option('--raw', 'CSV: leave cells alone that a spreadsheet would take for a formula')
  .option('--bom', 'CSV: begin with a byte order mark, for old versions of Excel')
  .option('--generation <n>', 'of this generation instead of the newest', wholeNumber)
  .action(
    ending(async (job: string, options) =>
      (await import('./commands/export.ts')).exportResults(job, options),
    ),
  );

withSettings(command('check the invariants on a live database', 'doctor'))
  .option('--json', 'print JSON')
  .option('--job <job>', 'check one job')
  .option('--budget-ms <ms>', 'time for each invariant', wholeNumber)
  .option('--max-jobs <n>', 'newest jobs that are looked at', wholeNumber)
  .action(ending(async (options) => (await import('./commands/doctor.ts')).doctor(options)));

command('bring the database to the schema of this version', 'migrate').action(
  ending(async (options) => (await import('./commands/migrate.ts')).migrateDatabase(options)),
);

command('let logins of the database do what workers and the API need, and no more', 'grant')
  .option('--worker <login>', 'existing login that workers connect with')
  .option('--api <login>', 'existing login that the API connects with')
  .action(ending(async (options) => (await import('./commands/grant.ts')).grantAccess(options)));

program
  .command('login [url]')
  .description('sign in to a server: with a password, or with an API key from a file or standard input')
  .option('--user <name>', 'who; asked for when it is left out')
  .option('--key-file <file>', 'a file that holds an API key, instead of a password')
  .option('--scopes <scopes>', 'what the new key may do; default: read,write,export', commaSeparated)
  .option('--days <n>', 'days until the new key ends; default: 90', wholeNumber)
  .action(
    ending(async (url: string | undefined, options) =>
      (await import('./commands/login.ts')).login(url, options),
    ),
  );

program
  .command('logout [url]')
  .description('forget the key for a server, and end it there')
  .action(ending(async (url: string | undefined) => (await import('./commands/login.ts')).logout(url)));

const keys = withApi(program.command('keys').description('list API keys of a server'))
  .option('--all', 'of everybody; for administrators')
  .option('--json', 'print JSON')
  .action(ending(async (options) => (await import('./commands/keys.ts')).listKeysOf(options)));

keys
  .command('create <name>')
  .description('make an API key; it is shown this once')
  .option('--scopes <scopes>', 'of read, write, export and admin; default: read', commaSeparated)
  .option('--days <n|none>', 'days until it ends; default: 90', wholeNumberOrNone)
  .action(
    ending(async (name: string, _, create: Command) =>
      (await import('./commands/keys.ts')).createKeyOf(name, create.optsWithGlobals()),
    ),
  );

keys
  .command('revoke <key>')
  .description('end an API key at once')
  .action(
    ending(async (key: string, _, revoke: Command) =>
      (await import('./commands/keys.ts')).revokeKeyOf(key, revoke.optsWithGlobals()),
    ),
  );

withApi(
  program.command('open [job]').description('open the page of a server, or of a job there, in the browser'),
)
  .option('--print', 'only print the address')
  .action(
    ending(async (job: string | undefined, options) =>
      (await import('./commands/keys.ts')).openWebPage(job, options),
    ),
  );

program
  .command('completion')
  .description('print a script that completes commands and options; json: the commands')
  .addArgument(new Argument('<shell>').choices(SHELLS))
  .action(ending((shell: Shell) => printCompletion(shell, program)));

program
  .command('init [folder]')
  .description('make a small project with a pipeline and its test, which run at once')
  .option('--name <name>', "name of the package; default: the folder's")
  .action(
    ending(async (folder: string | undefined, options) =>
      (await import('./commands/init.ts')).init(folder, options),
    ),
  );

await program.parseAsync();
