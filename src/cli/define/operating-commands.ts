// Commands for operators: workers, limits, owners, counters, sources, the database.
import type { Command } from 'commander';
import { amountOrNone, numberFrom, trueOrFalse, wholeNumber, wholeNumberOrNone } from '../argument-values.ts';
import { command, commandOfBoth, ending, withSettings } from './command-parts.ts';

function withSource(target: Command): Command {
  return withSettings(target)
    .option('--config <file>', 'JSON file with the sources; default: ROWMILL_CONFIG')
    .option('--json', 'print JSON lines');
}

export function defineOperatingCommands(program: Command): void {
  commandOfBoth('list worker processes', 'workers', program)
    .option('--json', 'print JSON')
    .action(ending(async (options) => (await import('../commands/jobs.ts')).listWorkersOf(options)));

  const resources = commandOfBoth(
    'show services with limits, and what of them is used',
    'resources [name]',
    program,
  )
    .option('--json', 'print JSON')
    .option('--limit <n>', 'how many keys', wholeNumber, 100)
    .option('--watch', 'print it every second until stopped')
    .action(
      ending(async (name: string | undefined, options) =>
        (await import('../commands/resources.ts')).showResources(name, options),
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
        (await import('../commands/resources.ts')).setResource(name, set.optsWithGlobals()),
      ),
    );

  const owners = command('show owners with open jobs, their weights and limits', 'owners', program)
    .option('--json', 'print JSON')
    .option('--limit <n>', 'how many owners', wholeNumber, 1000)
    .action(ending(async (options) => (await import('../commands/owners.ts')).showOwners(options)));

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
        (await import('../commands/owners.ts')).setOwnerOf(owner, set.optsWithGlobals()),
      ),
    );

  command('show what was changed by hand, newest first', 'audit [subject]', program)
    .option('--json', 'print JSON')
    .option('--limit <n>', 'how many entries', wholeNumber, 50)
    .action(
      ending(async (subject: string | undefined, options) =>
        (await import('../commands/owners.ts')).showAudit(subject, options),
      ),
    );

  const counters = command('show counters with their totals', 'counters', program)
    .option('--json', 'print JSON')
    .action(ending(async (options) => (await import('../commands/counters.ts')).showCounters(options)));

  counters
    .command('check [counter]')
    .alias('audit')
    .description('compare counters with what was contributed to them, while workers go on')
    .option('--repair', 'set what has drifted to what was contributed')
    .option('--budget-ms <ms>', 'time for it; default: until all is compared', wholeNumber)
    .action(
      ending(async (counter: string | undefined, _, check: Command) =>
        (await import('../commands/counters.ts')).checkCountersOf(counter, check.optsWithGlobals()),
      ),
    );
}

export function defineMaintenanceCommands(program: Command): void {
  withSource(
    command('turn the files of the configured sources into jobs, once', 'scan <pipelines...>', program),
  ).action(
    ending(async (modules: string[], options) =>
      (await import('../commands/scan.ts')).runScan(modules, options),
    ),
  );

  const sources = program.command('sources').description('files that are fetched: docs/sources.md');
  withSource(
    command('keep turning the files of the configured sources into jobs', 'watch <pipelines...>', sources),
  ).action(
    ending(async (modules: string[], options) =>
      (await import('../commands/scan.ts')).watchSourcesUntilStopped(modules, options),
    ),
  );

  withSettings(command('check the invariants on a live database', 'doctor', program))
    .option('--json', 'print JSON')
    .option('--job <job>', 'check one job')
    .option('--budget-ms <ms>', 'time for each invariant', wholeNumber)
    .option('--max-jobs <n>', 'newest jobs that are looked at', wholeNumber)
    .action(ending(async (options) => (await import('../commands/doctor.ts')).doctor(options)));

  command('bring the database to the schema of this version', 'migrate', program).action(
    ending(async (options) => (await import('../commands/migrate.ts')).migrateDatabase(options)),
  );

  command('let logins of the database do what workers and the API need, and no more', 'grant', program)
    .option('--worker <login>', 'existing login that workers connect with')
    .option('--api <login>', 'existing login that the API connects with')
    .action(ending(async (options) => (await import('../commands/grant.ts')).grantAccess(options)));
}
