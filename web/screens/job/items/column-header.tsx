// The header of a column: its name, an options menu and a resize handle that also takes arrow keys.
import { ArrowLeft, ArrowRight, EyeOff, MoreVertical, Pin, PinOff } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { type CSSProperties, type KeyboardEvent, type PointerEvent, useRef } from 'react';
import { menuItemClass, menuPlace } from '../../../components/menu.tsx';
import { classNames } from '../../../lib/class-names.ts';
import { directionOf, SortButton } from './sort-button.tsx';
import { type ArrangedColumn, MAX_WIDTH_PX, MIN_WIDTH_PX } from './column-layout.ts';

export interface ColumnActions {
  move: (columnId: string, by: -1 | 1) => void;
  pin: (columnId: string, isPinned: boolean) => void;
  show: (columnId: string, isShown: boolean) => void;
  resize: (columnId: string, widthPx: number) => void;
}

export interface ColumnHeaderProps {
  column: ArrangedColumn;
  place: CSSProperties | undefined;
  /** Number of the column in the table, from 1. */
  columnIndex: number;
  actions: ColumnActions;
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
}

const STEP_PX = 16;

export function ColumnHeader({ column, place, columnIndex, actions, sort, onSort }: ColumnHeaderProps) {
  const { columnId, title, isPinned, isNumeric, isImage, group } = column;
  const words = <span className={group === 'Result' ? 'text-accent' : undefined}>{title}</span>;
  return (
    <div
      role="columnheader"
      className={classNames(
        'group/head relative flex items-center bg-sunken pl-2.5 font-medium',
        isPinned && 'sticky z-10',
      )}
      aria-colindex={columnIndex}
      aria-sort={directionOf(columnId, sort)}
      style={place}
      title={group === 'Row' ? title : `${title} (${group.toLowerCase()})`}
    >
      {isPinned && <Pin size={12} aria-hidden className="mr-1 shrink-0" />}
      {isImage ? (
        <span className="min-w-0 flex-1 truncate">{words}</span>
      ) : (
        <SortButton name={columnId} sort={sort} onSort={onSort} isRight={isNumeric}>
          {words}
        </SortButton>
      )}
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger
          aria-label={`Column options: ${title}`}
          className="mr-1.5 shrink-0 rounded p-0.5 text-muted opacity-0 group-hover/head:opacity-100 hover:bg-line hover:text-text focus-visible:opacity-100 data-[state=open]:opacity-100 pointer-coarse:opacity-100"
        >
          <MoreVertical size={14} aria-hidden />
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal container={menuPlace()}>
          <DropdownMenu.Content className="z-50 min-w-40 rounded-md border border-line bg-surface p-1 shadow-lg">
            <DropdownMenu.Item className={menuItemClass} onSelect={() => actions.pin(columnId, !isPinned)}>
              {isPinned ? <PinOff size={15} aria-hidden /> : <Pin size={15} aria-hidden />}
              {isPinned ? 'Unpin' : 'Pin left'}
            </DropdownMenu.Item>
            <DropdownMenu.Item className={menuItemClass} onSelect={() => actions.move(columnId, -1)}>
              <ArrowLeft size={15} aria-hidden /> Move left
            </DropdownMenu.Item>
            <DropdownMenu.Item className={menuItemClass} onSelect={() => actions.move(columnId, 1)}>
              <ArrowRight size={15} aria-hidden /> Move right
            </DropdownMenu.Item>
            <DropdownMenu.Item className={menuItemClass} onSelect={() => actions.show(columnId, false)}>
              <EyeOff size={15} aria-hidden /> Hide
            </DropdownMenu.Item>
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      <Edge column={column} resize={actions.resize} />
    </div>
  );
}

function Edge({ column, resize }: { column: ArrangedColumn; resize: ColumnActions['resize'] }) {
  const drag = useRef<{ x: number; widthPx: number } | null>(null);
  const { columnId, title, widthPx } = column;
  const begin = (event: PointerEvent<HTMLDivElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    drag.current = { x: event.clientX, widthPx };
  };
  const go = (event: PointerEvent<HTMLDivElement>) => {
    if (drag.current) resize(columnId, drag.current.widthPx + event.clientX - drag.current.x);
  };
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    resize(columnId, widthPx + (event.key === 'ArrowLeft' ? -STEP_PX : STEP_PX));
  };
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of column ${title}`}
      aria-valuenow={widthPx}
      aria-valuemin={MIN_WIDTH_PX}
      aria-valuemax={MAX_WIDTH_PX}
      tabIndex={0}
      onPointerDown={begin}
      onPointerMove={go}
      onPointerUp={() => {
        drag.current = null;
      }}
      onKeyDown={press}
      className="absolute inset-y-0 right-0 w-1.5 cursor-col-resize touch-none border-r border-line hover:border-r-2 hover:border-accent"
    />
  );
}
