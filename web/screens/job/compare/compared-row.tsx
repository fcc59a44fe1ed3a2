// One row of a comparison: a line per cell that differs, with both values.
import { formatCost } from '../../../../src/core/limits/format-cost.ts';
import type { Answered } from '../../../../src/client/route-call.ts';
import type { Routes } from '../../../../src/contract/routes.ts';
import { StatusChip, statusWord } from '../../../components/status-chip.tsx';
import { cellClass, numberClass } from '../../../components/table.tsx';
import { cellText } from '../../../lib/cell-text.ts';
import { classNames } from '../../../lib/class-names.ts';
import { formatDuration } from '../../../lib/format.ts';
import { RowNumber } from '../row-number.tsx';
import { CHANGES } from './change-words.ts';

type Compared = Answered<Routes['compareRuns']>['items'][number];

interface Line {
  cell: string;
  before: string;
  after: string;
}

export function ComparedRow({ row, costUnit }: { row: Compared; costUnit: string | null }) {
  const { seq, change, before, after } = row;
  const lines = linesOf(row);
  const { word, tone } = CHANGES[change];
  const costs = [before?.cost ?? null, after.cost];
  const times = [before?.handlerMs ?? null, after.handlerMs];
  return lines.map(({ cell, before: was, after: is }, at) => (
    <tr key={cell} className={classNames(at === lines.length - 1 && 'border-b border-line last:border-0')}>
      {at === 0 && (
        <>
          <th scope="rowgroup" rowSpan={lines.length} className={classNames(cellClass, 'font-normal')}>
            <RowNumber seq={seq} />
          </th>
          <td rowSpan={lines.length} className={cellClass}>
            <span className={`rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${tone}`}>
              {word}
            </span>
          </td>
        </>
      )}
      <td className={classNames(cellClass, 'text-[13px] text-muted')}>{cell}</td>
      <td className={classNames(cellClass, 'max-w-72 break-words')}>
        {cell === 'Status' && before ? (
          <StatusChip status={before.status} />
        ) : was !== is ? (
          <del className={classNames('no-underline', cell === 'Error' ? 'text-muted' : 'text-bad')}>
            {was}
          </del>
        ) : (
          was
        )}
      </td>
      <td className={classNames(cellClass, 'max-w-72 break-words')}>
        {cell === 'Status' ? (
          <StatusChip status={after.status} />
        ) : was !== is ? (
          <ins className={classNames('no-underline', cell === 'Error' ? 'text-bad' : 'text-good')}>{is}</ins>
        ) : (
          is
        )}
      </td>
      {at === 0 && (
        <>
          <td rowSpan={lines.length} className={classNames(numberClass, 'whitespace-nowrap')}>
            {both(costs, (cost) => formatCost(cost, costUnit))}
          </td>
          <td rowSpan={lines.length} className={classNames(numberClass, 'whitespace-nowrap')}>
            {both(times, formatDuration)}
          </td>
        </>
      )}
    </tr>
  ));
}

function linesOf({ before, after, cells }: Compared): Line[] {
  const lines: Line[] = [];
  if (before?.status !== after.status)
    lines.push({
      cell: 'Status',
      before: before ? statusWord(before.status) : '',
      after: statusWord(after.status),
    });
  if (before && before.error !== after.error)
    lines.push({ cell: 'Error', before: before.error ?? '', after: after.error ?? '' });
  for (const cell of cells)
    lines.push({
      // A column may be named like one of the lines above.
      cell:
        cell.column === ''
          ? 'Whole result'
          : cell.column === 'Status' || cell.column === 'Error'
            ? `“${cell.column}”`
            : cell.column,
      before: cellText(cell, 'before'),
      after: cellText(cell, 'after'),
    });
  return lines.length > 0 ? lines : [{ cell: '', before: '', after: '' }];
}

function both(values: readonly (number | null)[], format: (value: number) => string): string {
  const [before, after] = values.map((value) => (value === null ? '—' : format(value)));
  return before === after ? before! : `${before} to ${after}`;
}
