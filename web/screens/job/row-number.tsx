// Link that opens a row.
import { Link } from '@tanstack/react-router';
import { rowNumber } from '../../../src/contract/row-number.ts';
import { formatCount } from '../../lib/format.ts';
import { jobRoute } from '../../routes/router.tsx';

export function RowNumber({ seq }: { seq: number }) {
  const { jobId } = jobRoute.useParams();
  return (
    <Link
      from="/jobs/$jobId"
      to="/jobs/$jobId"
      params={{ jobId }}
      search={(before) => ({ ...before, row: seq })}
      resetScroll={false}
      className="text-accent tabular-nums underline underline-offset-2"
    >
      row {formatCount(rowNumber(seq))}
    </Link>
  );
}
