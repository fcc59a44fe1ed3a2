// A table that scrolls inside its frame on a narrow screen, by keyboard too.
import type { ReactNode } from 'react';
import { classNames } from '../lib/class-names.ts';

export interface TableProps {
  /** Accessible name. */
  label: string;
  headings: readonly ReactNode[];
  /** Indexes of the columns that hold numbers: their headings are right-aligned. */
  numbers?: readonly number[];
  children: ReactNode;
}

export function Table({ label, headings, numbers = [], children }: TableProps) {
  return (
    <section
      aria-label={label}
      tabIndex={0}
      className="relative overflow-x-auto rounded-lg border border-line bg-surface"
    >
      <table className="w-full text-left">
        <thead className="border-b border-line text-[13px] text-muted">
          <tr>
            {headings.map((heading, at) => (
              <th
                // biome-ignore lint/suspicious/noArrayIndexKey: headings stay where they are
                key={at}
                scope="col"
                className={classNames(
                  'px-3 py-2 font-medium whitespace-nowrap',
                  numbers.includes(at) && 'text-right',
                )}
              >
                {heading === '' ? <span className="sr-only">Actions</span> : heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

/** Buttons in the last cell do not make the row taller. */
export const rowClass = 'border-b border-line last:border-0 hover:bg-sunken [&>td:last-child_button]:-my-1';
export const cellClass = 'px-3 py-2.5 align-top';
export const numberClass = `${cellClass} text-right tabular-nums`;
