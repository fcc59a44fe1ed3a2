// The shape of content that is on its way.
import { classNames } from '../lib/class-names.ts';

const WIDTHS = ['w-2/5', 'w-full', 'w-full', 'w-11/12', 'w-3/4'];

export interface LoadingProps {
  /** The whole screen is missing, with its padding. */
  isScreen?: boolean;
}

export function Loading({ isScreen = false }: LoadingProps) {
  return (
    <div className={classNames('flex flex-col gap-3', isScreen && 'p-6')}>
      <span className="sr-only">Loading…</span>
      <div aria-hidden className="flex animate-pulse flex-col gap-3 motion-reduce:animate-none">
        {WIDTHS.map((width, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: bars never change
          <div key={place} className={classNames('h-5 rounded bg-sunken', width)} />
        ))}
      </div>
    </div>
  );
}
