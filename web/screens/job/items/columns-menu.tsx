// Shows, hides, pins and moves columns.
import { ChevronDown, ChevronUp, Columns3, Pin, PinOff } from 'lucide-react';
import { Popover } from 'radix-ui';
import { useState } from 'react';
import { Button, buttonClass } from '../../../components/button.tsx';
import { CheckField } from '../../../components/check-field.tsx';
import { inputClass } from '../../../components/field.tsx';
import { menuPlace } from '../../../components/menu.tsx';
import { classNames } from '../../../lib/class-names.ts';
import type { ColumnActions } from './column-header.tsx';
import type { ArrangedColumn } from './column-layout.ts';
import { scrollHeight, visibleRows } from './visible-rows.ts';

export interface ColumnsMenuProps {
  /** All columns, in order. */
  arranged: readonly ArrangedColumn[];
  actions: ColumnActions;
  onReset: () => void;
}

export function ColumnsMenu({ arranged, actions, onReset }: ColumnsMenuProps) {
  const [sought, setSought] = useState('');
  const shownCount = arranged.filter(({ isShown }) => isShown).length;
  const listed = arranged.filter(({ title }) => title.toLowerCase().includes(sought.toLowerCase()));
  return (
    <Popover.Root>
      <Popover.Trigger className={buttonClass('plain', 'normal')}>
        <Columns3 size={15} aria-hidden /> <span className="max-sm:sr-only">Columns</span>
        <span className="hidden font-normal text-muted tabular-nums sm:inline">
          ({shownCount} of {arranged.length})
        </span>
      </Popover.Trigger>
      <Popover.Portal container={menuPlace()}>
        <Popover.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label="Columns"
          className="z-50 flex max-h-[min(70vh,var(--radix-popover-content-available-height))] w-80 max-w-[calc(100vw-1rem)] flex-col rounded-md border border-line bg-surface shadow-lg"
        >
          <div className="border-b border-line p-2">
            <input
              type="search"
              aria-label="Find a column"
              placeholder="Find a column"
              className={inputClass}
              value={sought}
              onChange={(event) => setSought(event.target.value)}
            />
          </div>
          <ColumnList listed={listed} actions={actions} />
          <div className="flex justify-end border-t border-line p-2">
            <Button size="small" kind="quiet" onClick={onReset}>
              Reset
            </Button>
          </div>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

const LINE_PX = 32;
const LIST_PX = 384;
const OVERSCAN = 6;

/** Only the lines in view are in the document: a file may have thousands of columns. */
function ColumnList({ listed, actions }: { listed: readonly ArrangedColumn[]; actions: ColumnActions }) {
  const [scrollTop, setScrollTop] = useState(0);
  const count = listed.length;
  const view = { count, rowPx: LINE_PX, viewPx: LIST_PX, scrollTop, overscan: OVERSCAN };
  const { first, end } = visibleRows(view);
  return (
    <div
      tabIndex={0}
      role="group"
      aria-label="Columns"
      className="min-h-0 flex-1 overflow-auto p-1"
      style={{ maxHeight: LIST_PX }}
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
    >
      <ul
        style={{ height: scrollHeight(count, LINE_PX), paddingTop: first * LINE_PX }}
        className="box-border"
      >
        {listed.slice(first, end).map((column, at) => (
          <ColumnLine
            key={column.columnId}
            column={column}
            actions={actions}
            place={first + at + 1}
            count={count}
          />
        ))}
      </ul>
      {count === 0 && <p className="p-2 text-muted">No matching columns</p>}
    </div>
  );
}

const smallClass = 'rounded p-1 text-muted hover:bg-line hover:text-text';

interface ColumnLineProps {
  column: ArrangedColumn;
  actions: ColumnActions;
  /** Its number in the list, from 1. */
  place: number;
  count: number;
}

function ColumnLine({ column, actions, place, count }: ColumnLineProps) {
  const { columnId, title, group, isShown, isPinned } = column;
  return (
    <li
      aria-posinset={place}
      aria-setsize={count}
      className="flex items-center gap-0.5 rounded px-2 py-1 hover:bg-sunken"
      style={{ height: LINE_PX }}
    >
      <CheckField
        className="min-w-0 flex-1"
        label={
          <span className="flex min-w-0 items-baseline gap-2">
            <span className="max-w-36 truncate">{title}</span>
            <span className="text-xs text-muted">{group}</span>
          </span>
        }
        checked={isShown}
        onChange={(event) => actions.show(columnId, event.target.checked)}
      />
      <button
        type="button"
        className={classNames(smallClass, isPinned && 'text-accent')}
        aria-label={isPinned ? `Unpin ${title}` : `Pin ${title} left`}
        onClick={() => actions.pin(columnId, !isPinned)}
      >
        {isPinned ? <PinOff size={14} aria-hidden /> : <Pin size={14} aria-hidden />}
      </button>
      <button
        type="button"
        className={smallClass}
        aria-label={`Move ${title} left`}
        onClick={() => actions.move(columnId, -1)}
      >
        <ChevronUp size={14} aria-hidden />
      </button>
      <button
        type="button"
        className={smallClass}
        aria-label={`Move ${title} right`}
        onClick={() => actions.move(columnId, 1)}
      >
        <ChevronDown size={14} aria-hidden />
      </button>
    </li>
  );
}
