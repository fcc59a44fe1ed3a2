// The commands and options there are, read from the parser itself: for completion and for the check of the documents.
import type { Command } from 'commander';

export interface CommandNode {
  /** Words behind `rowmill`; empty for the program itself. */
  words: string[];
  description: string;
  usage: string;
  /** Values of the arguments, as far as they are known. */
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
