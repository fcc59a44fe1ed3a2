// The list of keyboard shortcuts.
import { Dialog } from '../../components/dialog.tsx';
import { commandKey } from '../../lib/command-key.ts';
import { JUMPS } from './keys.ts';

export interface KeysDialogProps {
  onClose: () => void;
  /** Screens that this server does not have. */
  hidden: readonly string[];
}

export function KeysDialog({ onClose, hidden }: KeysDialogProps) {
  const lines: readonly (readonly [keys: readonly string[], words: string])[] = [
    [[commandKey, 'K'], 'Open command palette'],
    [['?'], 'Show keyboard shortcuts'],
    ...JUMPS.filter(([, to]) => !hidden.includes(to)).map(([key, , words]) => [['g', key], words] as const),
    [['Up'], 'Previous row'],
    [['Down'], 'Next row'],
    [['Enter'], 'Open row'],
    [['Esc'], 'Close dialog or panel'],
  ];
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts">
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-6 gap-y-2">
        {lines.map(([keys, words]) => (
          <div key={words} className="contents">
            <dt className="flex gap-1">
              {keys.map((key) => (
                <kbd
                  key={key}
                  className="rounded border border-line bg-sunken px-1.5 py-0.5 font-mono text-xs"
                >
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
