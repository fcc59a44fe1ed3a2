// One row of the grid, or a placeholder while it loads.
import { type MouseEvent, memo } from 'react';
import { checkBoxClass } from '../../../components/check-field.tsx';
import { StatusChip } from '../../../components/status-chip.tsx';
import { classNames } from '../../../lib/class-names.ts';
import type { Item } from '../../../lib/job.ts';
import { Thumbnail } from '../thumbnail.tsx';
import { CellValue } from './cell-value.tsx';
import type { ArrangedColumn } from './column-layout.ts';
import { CHOICE_PX, ROW_PX } from './row-sizes.ts';
import type { SeenColumns } from './seen-columns.ts';

export interface RowShape extends SeenColumns<ArrangedColumn> {
  jobId: string;
}

export interface ItemRowProps {
  place: number;
  item: Item | undefined;
  shape: RowShape;
  isSelected: boolean;
  isFixed: boolean;
  isOpen: boolean;
  onSelect: (place: number, seq: number, isOn: boolean, isRange: boolean) => void;
  onOpen: (seq: number) => void;
}

const cellClass = 'truncate bg-inherit px-2.5';

export const ItemRow = memo(function ItemRow(props: ItemRowProps) {
  const { place, item, shape, isSelected, isFixed, isOpen, onSelect, onOpen } = props;
  const { columns, template } = shape;
  const open = (event: MouseEvent<HTMLDivElement>) => {
    const isControl = (event.target as HTMLElement).closest('a, button, input, label') !== null;
    if (item && !isControl && getSelection()?.isCollapsed !== false) onOpen(item.seq);
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the number of the row is a button that does the same
    <div
      role="row"
      aria-rowindex={place + 2}
      onClick={open}
      className={classNames(
        'grid w-max min-w-full cursor-default items-stretch border-b border-line bg-surface leading-[35px] hover:bg-sunken',
        (isSelected || isOpen) && 'bg-accent-soft hover:bg-accent-soft',
      )}
      style={{ gridTemplateColumns: template, height: ROW_PX }}
    >
      <div role="cell" className="sticky left-0 z-[5] flex items-center justify-center bg-inherit">
        {item && (
          <input
            type="checkbox"
            aria-label={`Select row ${item.row}`}
            data-walk="box"
            className={classNames(checkBoxClass, 'scroll-mt-10')}
            checked={isSelected}
            disabled={isFixed}
            onChange={(event) =>
              onSelect(place, item.seq, event.target.checked, (event.nativeEvent as PointerEvent).shiftKey)
            }
          />
        )}
      </div>
      <div
        role={item ? 'rowheader' : 'cell'}
        className="sticky z-[5] border-r border-line bg-inherit pr-2"
        style={{ left: CHOICE_PX }}
      >
        {item ? (
          <button
            type="button"
            aria-label={`Open row ${item.row}`}
            data-walk="number"
            onClick={() => onOpen(item.seq)}
            className="w-full scroll-mt-10 rounded text-right text-muted tabular-nums hover:text-text hover:underline"
          >
            {item.row}
          </button>
        ) : (
          <Shape />
        )}
      </div>
      {columns.map((column, at) => {
        const text = item ? column.text(item) : '';
        return (
          <div
            key={column.columnId}
            role="cell"
            aria-colindex={shape.places[at]! + 3}
            className={classNames(
              cellClass,
              column.isPinned && 'sticky z-[5] border-r border-line',
              column.isNumeric && 'text-right tabular-nums',
            )}
            style={cellPlace(shape, at)}
            title={text}
          >
            {!item ? (
              <Shape />
            ) : column.isImage ? (
              text !== '' && <Thumbnail jobId={shape.jobId} seq={item.seq} name={text} />
            ) : column.columnId === 'status' ? (
              <StatusChip status={item.status} />
            ) : column.columnId === 'error' ? (
              <span className="text-bad">{text}</span>
            ) : (
              <CellValue text={text} />
            )}
          </div>
        );
      })}
    </div>
  );
});

/** A pinned cell stays at its edge; the first cell in view comes behind the space for the columns before it. */
export function cellPlace(
  { lefts, columns, firstLine }: RowShape,
  at: number,
): { left: number } | { gridColumnStart: number } | undefined {
  const left = lefts[at] ?? null;
  if (left !== null) return { left };
  return at === 0 || columns[at - 1]!.isPinned ? { gridColumnStart: firstLine } : undefined;
}

function Shape() {
  return (
    <span aria-hidden className="inline-block h-3 w-3/5 animate-pulse rounded bg-quiet-soft align-middle" />
  );
}
