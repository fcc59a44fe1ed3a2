// All commands and options, read from the parser, for completion and for the test of docs/cli.md.
import type { Command } from 'commander';

export interface CommandNode {
  /** Words after `rowmill`; empty for the program itself. */
  words: string[];
  description: string;
  usage: string;
  /** Allowed values of the arguments, where the parser declares them. */
  choices: string[];
  options: { flags: string; names: string[]; takesValue: boolean; choices: string[]; description: string }[];
  subcommands: string[];
}

export function commandTree(command: Command, words: string[] = []): CommandNode[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command);
  const node: CommandNode = {
    words,
    description: command.description(),
    usage: command.registeredArguments
      .map((each) => {
        const name = each.name() + (each.variadic ? '...' : '');
        return each.required ? `<${name}>` : `[${name}]`;
      })
      .join(' '),
    choices: command.registeredArguments.flatMap((each) => each.argChoices ?? []),
    options: help.visibleOptions(command).map((option) => ({
      flags: option.flags,
      names: [option.short, option.long].filter((name) => name != null),
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
      description: option.description,
    })),
    subcommands: subcommands.map((each) => each.name()),
  };
  return [node, ...subcommands.flatMap((each) => commandTree(each, [...words, each.name()]))];
}
