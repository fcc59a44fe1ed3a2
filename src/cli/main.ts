#!/usr/bin/env node
// The command line: arguments in, exit code out. Each command has its own file, loaded only when it is asked for; the
// folder define/ has their arguments and options.
import { Argument, Command } from 'commander';
import { VERSION } from '../platform/version.ts';
import { printCompletion, SHELLS, type Shell } from './commands/completion.ts';
import { defineAccountCommands } from './define/account-commands.ts';
import { ending } from './define/command-parts.ts';
import { defineJobCommands, defineResultCommands } from './define/job-commands.ts';
import { defineMaintenanceCommands, defineOperatingCommands } from './define/operating-commands.ts';
import { defineProcessCommands, defineRunCommands } from './define/run-commands.ts';
import { EXIT } from './exit-codes.ts';

const program = new Command('rowmill')
  .description('Runs every row of a file through slow, paid, rate-limited TypeScript code.')
  .version(VERSION)
  .showHelpAfterError('(add --help for the options)')
  // Before the commands: they inherit it.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));

defineRunCommands(program);
defineProcessCommands(program);
defineJobCommands(program);
defineOperatingCommands(program);
defineResultCommands(program);
defineMaintenanceCommands(program);
defineAccountCommands(program);

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
