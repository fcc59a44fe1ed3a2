// rowmill completion <shell>: generates a completion script from the command tree of the parser.
import type { Command } from 'commander';
import { type CommandNode, commandTree } from '../command-tree.ts';

export const SHELLS = ['bash', 'zsh', 'fish', 'json'] as const;
export type Shell = (typeof SHELLS)[number];

const SCRIPTS: Record<Shell, (nodes: readonly CommandNode[]) => string> = {
  bash,
  zsh,
  fish,
  json: (nodes) => `${JSON.stringify(nodes)}\n`,
};

export async function printCompletion(
  shell: Shell,
  { json }: { json?: boolean },
  program: Command,
): Promise<number> {
  const script = SCRIPTS[shell](commandTree(program));
  process.stdout.write(json && shell !== 'json' ? `${JSON.stringify({ shell, script })}\n` : script);
  return 0;
}

const keyOf = ({ words }: CommandNode): string => words.join(' ');
/** In single quotes the quote itself is the only special character of a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const optionNames = ({ options }: CommandNode): string[] => options.flatMap((option) => option.names);

function bash(nodes: readonly CommandNode[]): string {
  const offers = nodes.map(
    (node) =>
      `    ${quote(keyOf(node))}) offers=${quote([...node.subcommands, ...node.choices, ...optionNames(node)].join(' '))} ;;`,
  );
  const choices = nodes.flatMap((node) =>
    node.options
      .filter((option) => option.takesValue)
      .flatMap((option) =>
        option.names.map(
          (name) =>
            `    ${quote(`${keyOf(node)} ${name}`)}) values=${quote(option.choices.join(' ') || '-')} ;;`,
        ),
      ),
  );
  const paths = nodes.filter((node) => node.words.length > 0).map((node) => quote(keyOf(node)));
  return `# rowmill completion for bash: source <(rowmill completion bash)
_rowmill() {
  local current previous at word offers='' values=''
  current="\${COMP_WORDS[COMP_CWORD]}"
  previous="\${COMP_WORDS[COMP_CWORD-1]}"
  at=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${at:+$at }$word" in
      ${paths.join('|')}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at $previous" in
${choices.join('\n')}
  esac
  if [[ -n $values ]]; then
    if [[ $values == - ]]; then COMPREPLY=($(compgen -f -- "$current"))
    else COMPREPLY=($(compgen -W "$values" -- "$current")); fi
    return
  fi
  case "$at" in
${offers.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offers" -- "$current"))
  if [[ \${#COMPREPLY[@]} -eq 0 && $current != -* ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _rowmill rowmill
`;
}

/** zsh runs the bash script after bashcompinit. */
function zsh(nodes: readonly CommandNode[]): string {
  return `#compdef rowmill
autoload -U +X bashcompinit && bashcompinit
${bash(nodes).replace('source <(rowmill completion bash)', 'source <(rowmill completion zsh)').replace('for bash', 'for zsh')}`;
}

function fish(nodes: readonly CommandNode[]): string {
  const lines = nodes.flatMap((node) => {
    const at = `-n ${quote(`__rowmill_at ${quote(keyOf(node))}`)}`;
    const subcommands = node.subcommands.map((name) => {
      const child = nodes.find((each) => keyOf(each) === [...node.words, name].join(' '))!;
      return `complete -c rowmill -f ${at} -a ${name} -d ${quote(child.description)}`;
    });
    const options = node.options.map(({ names, takesValue, choices, description }) => {
      const flags = names.map((name) =>
        name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
      );
      const value = choices.length > 0 ? ` -x -a ${quote(choices.join(' '))}` : takesValue ? ' -r' : '';
      return `complete -c rowmill ${at} ${flags.join(' ')}${value} -d ${quote(description)}`;
    });
    const values = node.choices.map((value) => `complete -c rowmill -f ${at} -a ${value}`);
    return [...subcommands, ...values, ...options];
  });
  const paths = nodes.filter((node) => node.words.length > 0).map((node) => quote(keyOf(node)));
  return `# rowmill completion for fish: rowmill completion fish | source
function __rowmill_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim "$at $word")
    if contains -- "$next" ${paths.join(' ')}
      set at $next
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}
