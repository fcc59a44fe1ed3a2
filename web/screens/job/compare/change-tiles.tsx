// Numbers of rows by kind of change. Each is a button that shows its rows.
import type { RowChange } from '../../../../src/core/jobs/run-comparison.ts';
import { classNames } from '../../../lib/class-names.ts';
import { formatCount } from '../../../lib/format.ts';
import { CHANGE_ORDER, CHANGES } from './change-words.ts';

export interface ChangeTilesProps {
  counts: Record<RowChange, number>;
  /** The change whose rows are shown. */
  shown?: RowChange | undefined;
  onShow: (change: RowChange) => void;
}

export function ChangeTiles({ counts, shown, onShow }: ChangeTilesProps) {
  return (
    <div className="grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
      {CHANGE_ORDER.map((change) => {
        const count = counts[change];
        const { word, tone } = CHANGES[change];
        return (
          <button
            key={change}
            type="button"
            aria-pressed={shown === change}
            disabled={count === 0}
            onClick={() => onShow(change)}
            className={classNames(
              'flex flex-col rounded-md px-3 py-2 text-left not-disabled:hover:brightness-95',
              count === 0 ? 'bg-sunken text-muted' : tone,
              shown === change && 'outline-2 outline-current',
            )}
          >
            <span className="text-lg font-semibold tabular-nums">{formatCount(count)}</span>
            <span className="text-[13px]">{word}</span>
          </button>
        );
      })}
    </div>
  );
}
