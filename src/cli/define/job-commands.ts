// Commands on jobs and their rows: the nouns `jobs` and `rows` with their verbs. Former names are hidden and still work.
import { type Command, Option } from 'commander';
import { OUTPUT_FORMATS } from '../../core/files/output-format.ts';
import {
  amountFromZero,
  csvDelimiter,
  jobStates,
  keepTime,
  rowChanges,
  wholeNumber,
} from '../argument-values.ts';
import type { SimpleAction } from '../commands/control.ts';
import { withRowFilter } from '../row-filter-options.ts';
import {
  commandOfBoth,
  ending,
  withDatabaseOrServer,
  withSettings,
  withWatch,
  withYes,
} from './command-parts.ts';

const CONTROL_COMMANDS: readonly (readonly [SimpleAction, string])[] = [
  ['pause', 'Stop starting rows of a job; running rows finish'],
  ['resume', 'Resume a paused job, or run the remaining rows after a test run'],
  ['cancel', 'Cancel a job; finished rows keep their results'],
];

export function defineJobCommands(program: Command): void {
  const jobs = program
    .command('jobs')
    .description('Jobs: list, show, watch, pause, resume, cancel, keep, delete, errors, export');

  withWatch(commandOfBoth('List jobs, newest first', 'list', jobs, { isDefault: true }), 'stopped')
    .option('--state <states>', 'Only jobs in these states, such as RUNNING,PAUSED', jobStates)
    .option('--pipeline <name>', 'Only jobs of this pipeline')
    .option('--search <text>', 'Only jobs whose name or id contains this')
    .option('-n, --limit <n>', 'Maximum number of jobs', wholeNumber, 20)
    .option('--json', 'JSON output')
    .action(ending(async (options) => (await import('../commands/jobs.ts')).listJobsOf(options)));

  withWatch(commandOfBoth('Show the details of a job', 'show <job>', jobs), 'the job stops or finishes')
    .option('--json', 'JSON output')
    .action(
      ending(async (job: string, options) => (await import('../commands/status.ts')).status(job, options)),
    );
  commandOfBoth('Show recent jobs, or the details of one', 'status [job]', program, { hidden: true })
    .option('--json', 'JSON output')
    .option('-n, --limit <n>', 'Maximum number of jobs', wholeNumber, 20)
    .action(
      ending(async (job: string | undefined, options) =>
        (await import('../commands/status.ts')).status(job, options),
      ),
    );

  const watch = (target: Command): Command =>
    withDatabaseOrServer(target.description('Show live progress of a job until it finishes'))
      .option('--json', 'JSON output, one line per change')
      .action(
        ending(async (job: string, options) => (await import('../commands/watch.ts')).watchJob(job, options)),
      );
  watch(jobs.command('watch <job>'));
  watch(program.command('watch <job>', { hidden: true }));

  for (const [action, description] of CONTROL_COMMANDS) {
    const control = (target: Command): Command => {
      withSettings(withDatabaseOrServer(target.description(description))).option('--json', 'JSON output');
      if (action === 'resume') {
        target
          .option('--budget <amount>', 'New maximum cost of the job, in total', amountFromZero)
          .option('--budget-per-item <amount>', 'New maximum cost of one row', amountFromZero);
      }
      if (action === 'cancel') withYes(target);
      return target.action(
        ending(async (job: string, options) =>
          (await import('../commands/control.ts')).controlJob(action, job, options),
        ),
      );
    };
    control(jobs.command(`${action} <job>`));
    control(program.command(`${action} <job>`, { hidden: true }));
  }

  commandOfBoth('Set how long a job is kept after it has finished', 'keep <job>', jobs)
    .requiredOption('--for <days|forever|default>', 'Days, or the rule of its owner or pipeline', keepTime)
    .option('--json', 'JSON output')
    .action(
      ending(async (job: string, options) =>
        (await import('../commands/control.ts')).keepJobOf(job, options),
      ),
    );

  withYes(
    withSettings(
      commandOfBoth('Delete a finished job with its rows, results and files', 'delete <job>', jobs),
    ),
  )
    .option('--json', 'JSON output')
    .action(
      ending(async (job: string, options) =>
        (await import('../commands/control.ts')).deleteJobOf(job, options),
      ),
    );

  const errors = (target: Command): Command =>
    withDatabaseOrServer(target.description('List the error groups of a job, largest first'))
      .option('-n, --limit <n>', 'Maximum number of groups', wholeNumber, 50)
      .option('--search <text>', 'Only groups whose message contains this text')
      .option('--json', 'JSON output')
      .action(
        ending(async (job: string, options) =>
          (await import('../commands/jobs.ts')).listErrorsOf(job, options),
        ),
      );
  errors(jobs.command('errors <job>'));
  errors(program.command('errors <job>', { hidden: true }));

  commandOfBoth('Compare two runs of a job, cell by cell', 'compare <job>', program)
    .option('--from <run>', 'Earlier run (default: the one before --to)', wholeNumber)
    .option('--to <run>', 'Later run (default: the newest)', wholeNumber)
    .option('--change <kinds>', 'Only rows with these changes, such as fixed,newlyFailed', rowChanges)
    .option('--limit <n>', 'Maximum number of rows', wholeNumber, 50)
    .option('--json', 'JSON output')
    .action(
      ending(async (job: string, options) =>
        (await import('../commands/compare.ts')).printComparison(job, options),
      ),
    );

  const exportResults = (target: Command): Command =>
    withRowFilter(
      withSettings(withDatabaseOrServer(target.description('Write the results of a job to a file'))),
    )
      .option(
        '-o, --out <file>',
        'File to write: .csv, .xlsx or .jsonl; - is standard output (default: <input>-results.csv)',
      )
      .addOption(
        new Option('--format <format>', 'Format of the file (default: by its extension, or csv)').choices(
          OUTPUT_FORMATS,
        ),
      )
      .option('--unsuccessful', 'Only ERROR and NOT_FOUND rows, in the format of the input file')
      .option('--rejected', 'Only rows of the file that could not be read')
      .option('--raw', 'CSV: write cells that look like a formula unchanged')
      .option('--bom', 'CSV: byte order mark, for old versions of Excel')
      .option('--delimiter <character>', 'CSV: , or ; or | or tab (default: ,)', csvDelimiter)
      .option('--generation <n>', 'Run to export (default: the newest)', wholeNumber)
      .option('--json', 'JSON output')
      .action(
        ending(async (job: string, options) =>
          (await import('../commands/export.ts')).exportResults(job, options),
        ),
      );
  exportResults(jobs.command('export <job>'));
  exportResults(program.command('export <job>', { hidden: true }));
}

function defineLogs(program: Command): void {
  commandOfBoth('Show log lines of a job, or the attempts and log lines of one row', 'logs', program)
    .argument('<job>')
    .argument('[row]', 'Row of the job, counted from 1', wholeNumber)
    .option('-f, --follow', 'Show new lines of the job until it finishes')
    .addOption(
      new Option('--level <level>', 'Lowest level').choices(['info', 'warn', 'error']).default('info'),
    )
    .option('--limit <n>', 'Maximum number of lines of the job, without --follow', wholeNumber, 1000)
    .option('--json', 'JSON output, one line per log line')
    .action(
      ending(async (job: string, row: number | undefined, options) =>
        (await import('../commands/logs.ts')).showLogs(job, row, options),
      ),
    );
}

export function defineRowCommands(program: Command): void {
  defineLogs(program);
  const rows = program.command('rows').description('Rows of a job: list, retry, rerun');

  const list = (target: Command): Command =>
    withWatch(
      withRowFilter(
        withDatabaseOrServer(target.description('List rows of a job, in file order, numbered from 0')),
      ),
      'the job stops or finishes',
    )
      .option('-n, --limit <n>', 'Maximum number of rows', wholeNumber, 50)
      .option('--json', 'JSON output')
      .action(
        ending(async (job: string, options) =>
          (await import('../commands/jobs.ts')).listItemsOf(job, options),
        ),
      );
  list(rows.command('list <job>'));
  list(program.command('items <job>', { hidden: true }));

  withSettings(
    commandOfBoth('Try one row of a job again, or store its new outcome as a run of the job', 'retry', rows),
  )
    .argument('<job>')
    .argument('<row>', 'Row of the job, counted from 1', wholeNumber)
    .option('--promote', 'Run the row as a new run of the job, which stores its outcome, and wait for it')
    .option('--pipeline <pipeline>', 'Pipeline to run here; with --promote, workers run the row without it')
    .option('--phase <name>', 'Phase to start at (default: first phase; with --promote where the row failed)')
    .option('--previous <json>', 'Output of the phase before, in place of the stored one')
    .option('--once', 'Stop after the first attempt that would be retried')
    .option('--fixture <file>', 'File for the row, which `runFixture` of rowmill/testing runs')
    .option('--json', 'JSON output')
    .action(
      ending(async (job: string, row: number, options) =>
        (await import('../commands/rows.ts')).retryRow(job, row, options),
      ),
    );

  const rerun = (target: Command): Command =>
    withRowFilter(
      withSettings(
        withDatabaseOrServer(
          target.description(
            'Rerun rows of a finished job; by default NOT_FOUND, and ERROR unless permanent or invalid',
          ),
        ),
      ),
    )
      .option('--all', 'All rows, whatever their status')
      .option('--rows <rows>', 'Rows by number, counted from 1, such as 1-100,251')
      .option('--edits <file>', 'File with corrected inputs: JSON lines {"row": 4, "input": {…}}')
      .option('--include-permanent', 'Include errors of the classes permanent and invalid')
      .option('--max-attempts <n>', 'Attempts after which a row is left out; not over a server', wholeNumber)
      .option('--reset-attempts', 'Include rows that reached the attempt limit')
      .option('--from <phase>', 'Phase to start at (default: where each row failed)')
      .option('--json', 'JSON output')
      .action(
        ending(async (job: string, options) =>
          (await import('../commands/reprocess.ts')).reprocess(job, options),
        ),
      );
  rerun(rows.command('rerun <job>'));
  rerun(program.command('reprocess <job>', { hidden: true }));
}
