// The keys that work everywhere.
import { Dialog } from '../../components/dialog.tsx';
import { JUMPS } from './keys.ts';

export interface KeysDialogProps {
  onClose: () => void;
  /** Screens that this server does not have. */
  hidden: readonly string[];
}

export function KeysDialog({ onClose, hidden }: KeysDialogProps) {
  const lines: readonly (readonly [keys: readonly string[], words: string])[] = [
    [['Ctrl', 'K'], 'Go anywhere, find a job'],
    [['?'], 'These keys'],
    ...JUMPS.filter(([, to]) => !hidden.includes(to)).map(([key, , words]) => [['g', key], words] as const),
    [['Up'], 'The row above, in the rows of a job'],
    [['Down'], 'The row below'],
    [['Enter'], 'Open the row'],
    [['Esc'], 'Close what is open'],
  ];
  return (
    <Dialog open onClose={onClose} title="Keys">
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
