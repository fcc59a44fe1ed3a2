// Commands that run pipelines: files, workers, servers and slices.
import { type Command, Option } from 'commander';
import {
  commaSeparated,
  parseJsonObject,
  parseDuration,
  portNumber,
  wholeNumber,
} from '../argument-values.ts';
import { withFileOptions } from '../file-options.ts';
import {
  command,
  commandOfBoth,
  ending,
  logLevel,
  withNewJob,
  withServing,
  withSettings,
} from './command-parts.ts';

export function defineRunCommands(program: Command): void {
  withNewJob(
    command('Run every row of a file here and show the summary', 'run <pipeline> [files...]', program),
  )
    .option('-f, --follow', 'Show live progress')
    .option('-o, --out <file>', 'File for the results: .csv, .xlsx or .jsonl')
    .option('--params <json>', 'Parameters of the pipeline, as a JSON object', parseJsonObject)
    .option('--no-worker', 'Leave the rows to workers in other processes')
    .option('--resume <job>', 'Job to resume in place of a file; budget options change its budgets')
    .option('--json', 'JSON output: the job when the command ends; with --follow one line per change')
    .addHelpText(
      'after',
      '\nExample, in a project of `rowmill init`:\n  npx rowmill run prices rows.csv --follow --out results.csv',
    )
    .action(
      ending(async (pipeline: string, files: string[], options) =>
        (await import('../commands/run.ts')).run(pipeline, files, options),
      ),
    );

  defineTry(program);

  withNewJob(
    commandOfBoth(
      'Create a job from a file and leave its rows to workers',
      'submit <pipeline> [file]',
      program,
    ),
  )
    // The form of earlier versions: submit <file> --pipeline <pipeline>.
    .addOption(new Option('--pipeline <pipeline>').hideHelp())
    .option('-f, --follow', 'Show live progress until the job finishes; Ctrl-C leaves it running')
    .option('--name <name>', 'Name of the job (default: the file name)')
    .option('--params <json>', 'Parameters of the pipeline, as a JSON object', parseJsonObject)
    .option('--outputs <formats>', 'Files to write when the job finishes, such as csv,xlsx', commaSeparated)
    .option('--idempotency-key <key>', 'Key that makes repeats safe: the same key is the same job')
    .option('--json', 'JSON output; with --follow one line per change')
    .addHelpText(
      'after',
      '\nExample, in a project of `rowmill init` where `npx rowmill dev` runs:\n' +
        '  npx rowmill submit prices rows.csv --follow',
    )
    .action(
      ending(async (pipeline: string, file: string | undefined, options) =>
        (await import('../commands/submit.ts')).submit(pipeline, file, options),
      ),
    );

  withFileOptions(
    withSettings(
      program
        .command('inspect <file>')
        .description('Show how a file would be read, without storing anything'),
    ),
  )
    .option('--pipeline <pipeline>', 'Pipeline to map the columns to and check the rows against')
    .option('--rows <n>', 'Rows to show', wholeNumber, 5)
    .option('--json', 'JSON output')
    .action(
      ending(async (file: string, options) =>
        (await import('../commands/inspect.ts')).inspect(file, options),
      ),
    );
}

function defineTry(program: Command): void {
  withFileOptions(
    withSettings(
      commandOfBoth(
        'Run the handlers on one row here, without a job, and show what they did',
        'try <pipeline> [row]',
        program,
      ),
    ),
  )
    .option('--row <n>', 'Row of the file or job, counted from 1 (default of a file: 1)', wholeNumber)
    .option('--from <job>', 'Job whose row to try, with its edits and parameters')
    .option('--phase <name>', 'Phase to start at, with the stored output of the phase before')
    .option('--previous <json>', 'Output of the phase before, in place of the stored one')
    .option('--params <json>', 'Parameters of the pipeline, as a JSON object', parseJsonObject)
    .option('--once', 'Stop after the first attempt that would be retried')
    .option('--fixture <file>', 'File for the row, which `runFixture` of rowmill/testing runs')
    .option('--json', 'JSON output')
    .addHelpText(
      'after',
      '\nThe row is a JSON object or a file. Examples, in a project of `rowmill init`:\n' +
        `  npx rowmill try pipeline.ts '{"product":"lamp","price":"10","currency":"USD"}'\n` +
        '  npx rowmill try pipeline.ts rows.csv --row 3\n' +
        '  npx rowmill try pipeline.ts --from 0199a7c2 --row 3 --fixture test/row-3.json\n' +
        '\nThe handlers make real calls. Nothing is stored, and no resource permit or budget is used.',
    )
    .action(
      ending(async (pipeline: string, row: string | undefined, options) =>
        (await import('../commands/try.ts')).tryOneRow(pipeline, row, options),
      ),
    );
}

export function defineProcessCommands(program: Command): void {
  withSettings(command('Run worker processes until stopped', 'worker [pipelines...]', program))
    .option('--processes <n>', 'Number of worker processes', wholeNumber, 1)
    .option(
      '--metrics-port <n>',
      'Port for /metrics and /healthz; more processes use the next ports',
      portNumber,
    )
    .option('--metrics-host <address>', 'Address for metrics (default: 127.0.0.1)')
    .option('--config <file>', 'JSON file with settings (default: ROWMILL_CONFIG)')
    .addOption(logLevel())
    .option('--json', 'JSON output, one line per event')
    .action(
      ending(async (references: string[], options) =>
        (await import('../commands/worker.ts')).runWorkers(references, options),
      ),
    );

  withServing(
    command('Serve the web page and the HTTP API until stopped', 'server [pipelines...]', program),
  ).action(
    ending(async (references: string[], options) =>
      (await import('../commands/server.ts')).runServer(references, options),
    ),
  );

  withServing(
    command('Start PostgreSQL, the web page, the API and a worker to develop', 'dev [pipelines...]', program),
  )
    .option('--open', 'Open the web page in the browser, if run on a terminal')
    .action(
      ending(async (references: string[], options) =>
        (await import('../commands/dev.ts')).runDev(references, options),
      ),
    );

  withSettings(
    command(
      'Run one job here for a limited time; repeat until it finishes',
      'slice <job> [pipelines...]',
      program,
    ),
  )
    .option('--duration <time>', 'Time to run, such as 200ms, 5s or 1m', parseDuration, 5000)
    .option('--json', 'JSON output')
    .action(
      ending(async (job: string, references: string[], options) =>
        (await import('../commands/slice.ts')).slice(job, references, options),
      ),
    );
}
