// A part of a screen with a heading, on its own ground.
import { type ReactNode, useId } from 'react';
import { classNames } from '../lib/class-names.ts';

export interface SectionProps {
  title: ReactNode;
  /** At the right of the heading. */
  aside?: ReactNode;
  className?: string;
  children: ReactNode;
}

export function Section({ title, aside, className, children }: SectionProps) {
  const id = useId();
  return (
    <section
      aria-labelledby={id}
      className={classNames(
        'flex min-w-0 flex-col gap-3 rounded-lg border border-line bg-surface p-4',
        className,
      )}
    >
      <div className="flex items-baseline justify-between gap-3">
        <h2 id={id} className="text-[13px] font-semibold">
          {title}
        </h2>
        {aside && <div className="text-[13px] text-muted">{aside}</div>}
      </div>
      {children}
    </section>
  );
}
