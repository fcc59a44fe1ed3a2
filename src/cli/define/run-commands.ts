// Commands that run pipelines: a file here or elsewhere, workers, servers, slices, and the first project.
import type { Command } from 'commander';
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
    command(
      'store the rows of a file, process them here, and show the summary',
      'run <pipeline> [files...]',
      program,
    ),
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
        (await import('../commands/run.ts')).run(pipeline, files, options),
      ),
    );

  withNewJob(
    commandOfBoth('make a job of a file; workers that run elsewhere do the rest', 'submit <file>', program),
  )
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
      ending(async (file: string, options) => (await import('../commands/submit.ts')).submit(file, options)),
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
      ending(async (file: string, options) =>
        (await import('../commands/inspect.ts')).inspect(file, options),
      ),
    );
}

export function defineProcessCommands(program: Command): void {
  withSettings(command('run worker processes until stopped', 'worker <pipelines...>', program))
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
        (await import('../commands/worker.ts')).runWorkers(modules, options),
      ),
    );

  withServing(
    command('serve the web page and the HTTP API until stopped', 'server <pipelines...>', program),
  ).action(
    ending(async (modules: string[], options) =>
      (await import('../commands/server.ts')).runServer(modules, options),
    ),
  );

  withServing(
    command(
      'develop: an embedded PostgreSQL, the web page with the HTTP API, and a worker in one command',
      'dev <pipelines...>',
      program,
    ),
  ).action(
    ending(async (modules: string[], options) =>
      (await import('../commands/server.ts')).runDev(modules, options),
    ),
  );

  withSettings(
    command('work on one job here for a while; repeat it to the end', 'slice <job> <pipelines...>', program),
  )
    .option('--duration <time>', 'such as 200ms, 5s or 1m', parseDuration, 5000)
    .option('--json', 'print JSON')
    .action(
      ending(async (job: string, modules: string[], options) =>
        (await import('../commands/slice.ts')).slice(job, modules, options),
      ),
    );
}
