// Names of commands of earlier versions. They still work, and on a terminal print the current name.
import type { Command } from 'commander';

export const FORMER_NAMES: Readonly<Record<string, string>> = {
  status: 'jobs show',
  watch: 'jobs watch',
  pause: 'jobs pause',
  resume: 'jobs resume',
  cancel: 'jobs cancel',
  errors: 'jobs errors',
  export: 'jobs export',
  items: 'rows list',
  reprocess: 'rows rerun',
  scan: 'sources scan',
};

export function sayCurrentNames(program: Command): void {
  program.hook('preAction', (_, action) => {
    if (action.parent !== program || process.stderr.isTTY !== true) return;
    const isList = action.name() === 'status' && action.args.length === 0;
    const current = isList ? 'jobs list' : FORMER_NAMES[action.name()];
    if (current !== undefined) console.error(`\`rowmill ${action.name()}\` is now \`rowmill ${current}\`.`);
  });
}
