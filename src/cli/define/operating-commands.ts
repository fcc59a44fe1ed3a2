// Commands for operators: workers, limits, owners, counters, sources, the database.
import type { Command, CommandOptions } from 'commander';
import {
  amountOrNone,
  keepTime,
  numberFrom,
  trueOrFalse,
  wholeNumber,
  wholeNumberOrNone,
} from '../argument-values.ts';
import {
  command,
  commandOfBoth,
  ending,
  withApi,
  withDataFolder,
  withSettings,
  withYes,
} from './command-parts.ts';

function withSource(target: Command): Command {
  return withSettings(target)
    .option('--config <file>', 'JSON file with the sources (default: ROWMILL_CONFIG)')
    .option('--json', 'JSON output, one line per event');
}

export function defineOperatingCommands(program: Command): void {
  commandOfBoth('List worker processes', 'workers', program)
    .option('--json', 'JSON output')
    .action(ending(async (options) => (await import('../commands/jobs.ts')).listWorkersOf(options)));

  commandOfBoth('Show jobs, workers, services and the database until stopped', 'top', program)
    .option('--json', 'JSON output, one sample')
    .action(ending(async (options) => (await import('../commands/top.ts')).top(options)));

  const resources = commandOfBoth('Services with limits: list, set', 'resources', program).option(
    '--json',
    'JSON output',
  );

  resources
    .command('list [name]', { isDefault: true })
    .description('Show services with limits and their current use')
    .option('-n, --limit <n>', 'Maximum number of keys', wholeNumber, 100)
    .option('-w, --watch', 'Show changes until stopped')
    .action(
      ending(async (name: string | undefined, _, list: Command) =>
        (await import('../commands/resources.ts')).showResources(name, list.optsWithGlobals()),
      ),
    );

  resources
    .command('set <name>')
    .description('Override the limits of a service; workers follow within a second')
    .option('--key <key>', 'Key to change (default: all keys of the resource)')
    .option('--rate <n>', 'Maximum call starts per second', numberFrom(0, true))
    .option('--concurrency <n>', 'Maximum calls in progress', wholeNumber)
    .option('--min-delay <ms>', 'Minimum time between call starts with the same key', numberFrom(0))
    .option('--adaptive <true|false>', 'Automatic adjustment from the responses of the service', trueOrFalse)
    .option('--pause', 'Start no calls until --resume')
    .option('--resume', 'Undo --pause')
    .option('--clear', 'Remove the overrides; the declared limits apply again')
    .action(
      ending(async (name: string, _, set: Command) =>
        (await import('../commands/resources.ts')).setResource(name, set.optsWithGlobals()),
      ),
    );

  const owners = command('Owners of jobs: list, set, budget, export, delete', 'owners', program).option(
    '--json',
    'JSON output',
  );

  withApi(owners.command('list', { isDefault: true }))
    .description('Show owners with open jobs, their weights and limits')
    .option('-n, --limit <n>', 'Maximum number of owners', wholeNumber, 1000)
    .action(
      ending(async (_, list: Command) =>
        (await import('../commands/owners.ts')).showOwners(list.optsWithGlobals()),
      ),
    );

  withApi(owners.command('set <owner>'))
    .description('Change the weight, limits, retention and budgets of an owner')
    .option('--weight <n>', 'Shares of busy workers, from 1 to 1000', wholeNumber)
    .option('--max-jobs <n|none>', 'Maximum running jobs', wholeNumberOrNone)
    .option('--max-items <n|none>', 'Maximum rows in progress, over all workers', wholeNumberOrNone)
    .option('--keep <days|forever|default>', 'Days that finished jobs are kept', keepTime)
    .option('--budget <amount|none>', "Maximum total cost of the owner's jobs", amountOrNone)
    .option(
      '--budget-per-day <amount|none>',
      "Maximum cost of the owner's jobs per day, in UTC",
      amountOrNone,
    )
    .action(
      ending(async (owner: string, _, set: Command) =>
        (await import('../commands/owners.ts')).setOwnerOf(owner, set.optsWithGlobals()),
      ),
    );

  withApi(owners.command('budget <owner>'))
    .description('Show the budgets of an owner, or change them')
    .option('--total <amount|none>', "Maximum total cost of the owner's jobs", amountOrNone)
    .option('--per-day <amount|none>', "Maximum cost of the owner's jobs per day, in UTC", amountOrNone)
    .action(
      ending(async (owner: string, _, budget: Command) =>
        (await import('../commands/owners.ts')).ownerBudgetOf(owner, budget.optsWithGlobals()),
      ),
    );

  withSettings(owners.command('export <owner>'))
    .description('Write everything that belongs to an owner to a folder')
    .requiredOption('--out <folder>', 'Folder for the files, empty or new')
    .action(
      ending(async (owner: string, _, target: Command) =>
        (await import('../commands/owner-data.ts')).exportOwnerTo(owner, target.optsWithGlobals()),
      ),
    );

  withYes(withSettings(owners.command('delete <owner>')))
    .description('Delete everything that belongs to an owner')
    .action(
      ending(async (owner: string, _, target: Command) =>
        (await import('../commands/owner-data.ts')).deleteOwnerOf(owner, target.optsWithGlobals()),
      ),
    );

  command('Show the log of manual changes, newest first', 'audit [subject]', program)
    .option('--json', 'JSON output')
    .option('-n, --limit <n>', 'Maximum number of entries', wholeNumber, 50)
    .action(
      ending(async (subject: string | undefined, options) =>
        (await import('../commands/audit.ts')).showAudit(subject, options),
      ),
    );

  const counters = command('Counters: list, check', 'counters', program).option('--json', 'JSON output');

  counters
    .command('list', { isDefault: true })
    .description('Show counters with their totals')
    .action(
      ending(async (_, list: Command) =>
        (await import('../commands/counters.ts')).showCounters(list.optsWithGlobals()),
      ),
    );

  counters
    .command('check [counter]')
    .alias('audit')
    .description('Compare counters with their contributions while workers run')
    .option('--repair', 'Set drifted counters to their recounted values')
    .option('--budget-ms <ms>', 'Time limit of the check (default: none)', wholeNumber)
    .action(
      ending(async (counter: string | undefined, _, check: Command) =>
        (await import('../commands/counters.ts')).checkCountersOf(counter, check.optsWithGlobals()),
      ),
    );
}

export function defineSourceCommands(program: Command): void {
  const sources = program.command('sources').description('Configured sources of files: scan, watch');

  const scan = (parent: Command, options?: CommandOptions): Command =>
    withSource(
      command(
        'Create jobs from the files of the configured sources, once',
        'scan [pipelines...]',
        parent,
        options,
      ),
    ).action(
      ending(async (references: string[], given) =>
        (await import('../commands/scan.ts')).runScan(references, given),
      ),
    );
  scan(sources);
  scan(program, { hidden: true });

  withSource(
    command(
      'Create jobs from files of the configured sources until stopped',
      'watch [pipelines...]',
      sources,
    ),
  ).action(
    ending(async (references: string[], options) =>
      (await import('../commands/scan.ts')).watchSourcesUntilStopped(references, options),
    ),
  );
}

export function defineMaintenanceCommands(program: Command): void {
  withSettings(command('Check the invariants of a live database, and its server', 'doctor', program))
    .option('--json', 'JSON output')
    .option('--job <job>', 'Job to check (default: the newest jobs)')
    .option('--budget-ms <ms>', 'Time limit per invariant', wholeNumber)
    .option('--max-jobs <n>', 'Number of newest jobs to check', wholeNumber)
    .action(ending(async (options) => (await import('../commands/doctor.ts')).doctor(options)));

  command('Update the database schema to this version', 'migrate', program)
    .option('--json', 'JSON output')
    .action(ending(async (options) => (await import('../commands/migrate.ts')).migrateDatabase(options)));

  const backups = () => import('../commands/backup.ts');
  withSettings(withDataFolder(program.command('backup <file>')))
    .description('Back up the embedded PostgreSQL and its files into one archive')
    .option('--json', 'JSON output')
    .action(ending(async (file: string, options) => (await backups()).backUp(file, options)));

  withSettings(withDataFolder(program.command('restore <file>')))
    .description('Restore the archive of a backup into an empty folder')
    .option('--json', 'JSON output')
    .action(ending(async (file: string, options) => (await backups()).restore(file, options)));

  command('Give database logins the rights that workers and the API need', 'grant', program)
    .option('--worker <login>', 'Existing login for workers')
    .option('--api <login>', 'Existing login for the API')
    .option('--json', 'JSON output')
    .action(ending(async (options) => (await import('../commands/grant.ts')).grantAccess(options)));
}
