// The name of a column as a button that sorts by it: smallest first, largest first, then the order of the file again.
import { ArrowDown, ArrowUp } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from '../../../lib/class-names.ts';

export function directionOf(name: string, sort: string | undefined): 'ascending' | 'descending' | undefined {
  if (sort === name) return 'ascending';
  return sort === `-${name}` ? 'descending' : undefined;
}

/** The order after one more click. The order of the file is not in the URL. */
export function nextSort(name: string, sort: string | undefined): string | undefined {
  if (sort === `-${name}`) return undefined;
  return sort === name || (name === 'seq' && sort === undefined)
    ? `-${name}`
    : name === 'seq'
      ? undefined
      : name;
}

interface SortButtonProps {
  name: string;
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  isRight?: boolean | undefined;
  children: ReactNode;
}

export function SortButton({ name, sort, onSort, isRight, children }: SortButtonProps) {
  const direction = directionOf(name, sort);
  const Arrow = direction === 'descending' ? ArrowDown : ArrowUp;
  return (
    <button
      type="button"
      onClick={() => onSort(nextSort(name, sort))}
      className={classNames(
        'flex h-full min-w-0 flex-1 items-center gap-1 hover:text-text focus-visible:outline-offset-[-2px]',
        isRight && 'justify-end',
      )}
    >
      <span className="truncate">{children}</span>
      {direction && <Arrow size={12} aria-hidden className="shrink-0 text-accent" />}
    </button>
  );
}
