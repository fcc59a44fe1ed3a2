// Commands on jobs and their rows: control, progress, failures, reprocessing, results.
import { type Command, Option } from 'commander';
import { OUTPUT_FORMATS } from '../../core/files/output-format.ts';
import { amountFromZero, jobStates, wholeNumber } from '../argument-values.ts';
import type { SimpleAction } from '../commands/control.ts';
import { withRowFilter } from '../row-filter-options.ts';
import { commandOfBoth, ending, withSettings } from './command-parts.ts';

const CONTROL_COMMANDS: readonly (readonly [SimpleAction, string])[] = [
  ['pause', 'start nothing more of a job; what runs ends and is kept'],
  ['resume', 'go on with a paused job, or release the rest of a trial'],
  ['cancel', 'end a job: what has no result is cancelled, and the rest is kept'],
];

export function defineJobCommands(program: Command): void {
  for (const [action, description] of CONTROL_COMMANDS) {
    const control = withSettings(commandOfBoth(description, `${action} <job>`, program)).option(
      '--json',
      'print JSON',
    );
    if (action === 'resume') {
      control
        .option('--budget <amount>', 'what the job may cost from now on, over all', amountFromZero)
        .option('--budget-per-item <amount>', 'what one row may cost from now on', amountFromZero);
    }
    control.action(
      ending(async (job: string, options) =>
        (await import('../commands/control.ts')).controlJob(action, job, options),
      ),
    );
  }

  commandOfBoth('show jobs, or one of them', 'status [job]', program)
    .option('--json', 'print JSON')
    .option('--limit <n>', 'how many jobs', wholeNumber, 20)
    .action(
      ending(async (job: string | undefined, options) =>
        (await import('../commands/status.ts')).status(job, options),
      ),
    );

  commandOfBoth('list jobs, the newest first', 'jobs', program)
    .option('--state <states>', 'only jobs in these states, such as RUNNING,PAUSED', jobStates)
    .option('--pipeline <name>', 'only jobs of this pipeline')
    .option('--search <text>', 'only jobs whose name or id has this')
    .option('--limit <n>', 'how many jobs', wholeNumber, 20)
    .option('--json', 'print JSON')
    .action(ending(async (options) => (await import('../commands/jobs.ts')).listJobsOf(options)));

  withRowFilter(commandOfBoth('list rows of a job, in the order of its file', 'items <job>', program))
    .option('--limit <n>', 'how many rows', wholeNumber, 50)
    .option('--json', 'print JSON')
    .action(
      ending(async (job: string, options) => (await import('../commands/jobs.ts')).listItemsOf(job, options)),
    );

  commandOfBoth('list the failures of a job by group, the largest first', 'errors <job>', program)
    .option('--limit <n>', 'how many groups', wholeNumber, 50)
    .option('--json', 'print JSON')
    .action(
      ending(async (job: string, options) =>
        (await import('../commands/jobs.ts')).listErrorsOf(job, options),
      ),
    );

  commandOfBoth(
    'show live progress of a job until it has ended; Ctrl-C leaves it running',
    'watch <job>',
    program,
  )
    .option('--json', 'print a JSON line per change')
    .action(
      ending(async (job: string, options) => (await import('../commands/watch.ts')).watchJob(job, options)),
    );
}

export function defineResultCommands(program: Command): void {
  withRowFilter(
    withSettings(
      commandOfBoth(
        'run rows of a finished job again; default: those that failed',
        'reprocess <job>',
        program,
      ),
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
      ending(async (job: string, options) =>
        (await import('../commands/reprocess.ts')).reprocess(job, options),
      ),
    );

  withRowFilter(withSettings(commandOfBoth('write the results of a job to a file', 'export <job>', program)))
    .requiredOption('--out <file>', 'the ending says the format: .csv, .xlsx or .jsonl; -: standard output')
    .addOption(new Option('--format <format>', 'instead of what the ending says').choices(OUTPUT_FORMATS))
    .option('--failed', "failed rows in the file's own form, to be corrected and given again")
    .option('--rejected', 'rows of the file that could not be read')
    .option('--raw', 'CSV: leave cells alone that a spreadsheet would take for a formula')
    .option('--bom', 'CSV: begin with a byte order mark, for old versions of Excel')
    .option('--generation <n>', 'of this generation instead of the newest', wholeNumber)
    .action(
      ending(async (job: string, options) =>
        (await import('../commands/export.ts')).exportResults(job, options),
      ),
    );
}
