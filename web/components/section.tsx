// A card of a screen, with an optional heading.
import { type ReactNode, useId } from 'react';
import { classNames } from '../lib/class-names.ts';

export interface SectionProps {
  title?: ReactNode;
  /** At the right of the heading: a fact or an action. */
  aside?: ReactNode;
  className?: string;
  children: ReactNode;
}

export function Section({ title, aside, className, children }: SectionProps) {
  const id = useId();
  return (
    <section
      {...(title !== undefined && { 'aria-labelledby': id })}
      className={classNames(
        'flex min-w-0 flex-col gap-3 rounded-lg border border-line bg-surface p-4',
        className,
      )}
    >
      {title !== undefined && (
        <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-2">
          <h2 id={id} className="font-semibold">
            {title}
          </h2>
          {aside && <div className="text-[13px] text-muted">{aside}</div>}
        </div>
      )}
      {children}
    </section>
  );
}
