// Numbers of rows by kind of change. Each is a link to its rows.
import { Link } from '@tanstack/react-router';
import type { RowChange } from '../../../../src/core/jobs/run-comparison.ts';
import { classNames } from '../../../lib/class-names.ts';
import { formatCount } from '../../../lib/format.ts';
import { jobRoute } from '../../../routes/router.tsx';
import { CHANGE_ORDER, CHANGES } from './change-words.ts';

export interface ChangeTilesProps {
  counts: Record<RowChange, number>;
  from: number;
  to: number;
  /** The change whose rows are shown. Its link shows all rows again. */
  shown?: RowChange | undefined;
}

const tileClass = 'flex flex-col rounded-md px-3 py-2 text-left';

export function ChangeTiles({ counts, from, to, shown }: ChangeTilesProps) {
  const { jobId } = jobRoute.useParams();
  return (
    <div className="grid grid-cols-2 gap-2 sm:grid-cols-3 lg:grid-cols-6">
      {CHANGE_ORDER.map((change) => {
        const count = counts[change];
        const { word, tone } = CHANGES[change];
        const content = (
          <>
            <span className="text-lg font-semibold tabular-nums">{formatCount(count)}</span>{' '}
            <span className="text-[13px]">{word}</span>
          </>
        );
        if (count === 0)
          return (
            <span key={change} className={classNames(tileClass, 'bg-sunken text-muted')}>
              {content}
            </span>
          );
        const isShown = shown === change;
        return (
          <Link
            key={change}
            from="/jobs/$jobId"
            to="/jobs/$jobId"
            params={{ jobId }}
            search={(before) => ({
              ...before,
              runFrom: from,
              runTo: to,
              change: isShown ? undefined : change,
            })}
            resetScroll={false}
            aria-current={isShown}
            className={classNames(
              tileClass,
              tone,
              'hover:brightness-95',
              isShown && 'outline-2 outline-current',
            )}
          >
            {content}
          </Link>
        );
      })}
    </div>
  );
}
