#!/usr/bin/env node
// The command line: arguments in, exit code out. define/ declares the arguments and options of all commands; the file
// of a command is loaded only when the command runs.
import { Argument, Command } from 'commander';
import { VERSION } from '../platform/version.ts';
import { printCompletion, SHELLS, type Shell } from './commands/completion.ts';
import { defineAccountCommands } from './define/account-commands.ts';
import { ending } from './define/command-parts.ts';
import { defineJobCommands, defineRowCommands } from './define/job-commands.ts';
import {
  defineMaintenanceCommands,
  defineOperatingCommands,
  defineSourceCommands,
} from './define/operating-commands.ts';
import { defineProcessCommands, defineRunCommands } from './define/run-commands.ts';
import { definePeopleCommands, defineWebhookCommands } from './define/server-commands.ts';
import { EXIT } from './exit-codes.ts';
import { sayCurrentNames } from './former-names.ts';
import { usageErrors } from './usage-errors.ts';

const program = new Command('rowmill')
  .description('Run every row of a file through slow, paid, rate-limited TypeScript code.')
  .version(VERSION, '-V, --version', 'Show the version')
  .helpOption('-h, --help', 'Show help')
  // One line per command: arguments and options are in the help of the command.
  .configureHelp({ subcommandTerm: (each) => each.name() })
  .addHelpText('after', '\nRun `rowmill help <command>` for the arguments and options of a command.')
  .showHelpAfterError('(add --help to see the options)')
  // Set before the commands are defined, because they inherit it.
  .configureOutput(usageErrors(process.argv))
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));

sayCurrentNames(program);
program.commandsGroup('Run files:');
defineRunCommands(program);
program.commandsGroup('Run processes:');
defineProcessCommands(program);
program.commandsGroup('Jobs and rows:');
defineJobCommands(program);
defineRowCommands(program);
program.commandsGroup('Operate:');
defineOperatingCommands(program);
defineSourceCommands(program);
program.commandsGroup('Database:');
defineMaintenanceCommands(program);
program.commandsGroup('Servers and accounts:');
defineAccountCommands(program);
defineWebhookCommands(program);
definePeopleCommands(program);
program.commandsGroup('Set up:').helpCommand('help [command]', 'Show help for a command');

program
  .command('completion')
  .description('Print a completion script for a shell, or the commands as JSON')
  .addArgument(new Argument('<shell>').choices(SHELLS))
  .option('--json', 'JSON output')
  .action(ending((shell: Shell, options) => printCompletion(shell, options, program)));

program
  .command('init [folder]')
  .description('Create a small project with a pipeline and its test')
  .option('--name <name>', 'Name of the package (default: the name of the folder)')
  .option('--json', 'JSON output')
  .action(
    ending(async (folder: string | undefined, options) =>
      (await import('./commands/init.ts')).init(folder, options),
    ),
  );

await program.parseAsync();
