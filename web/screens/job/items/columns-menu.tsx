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
        <Columns3 size={15} aria-hidden /> Columns
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
          <ul className="min-h-0 flex-1 overflow-auto p-1" aria-label="Columns" tabIndex={0}>
            {listed.map((column) => (
              <ColumnLine key={column.columnId} column={column} actions={actions} />
            ))}
            {listed.length === 0 && <li className="p-2 text-muted">No matching columns</li>}
          </ul>
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

const smallClass = 'rounded p-1 text-muted hover:bg-line hover:text-text';

function ColumnLine({ column, actions }: { column: ArrangedColumn; actions: ColumnActions }) {
  const { columnId, title, group, isShown, isPinned } = column;
  return (
    <li className="flex items-center gap-0.5 rounded px-2 py-1 hover:bg-sunken">
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
