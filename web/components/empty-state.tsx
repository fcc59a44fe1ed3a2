// A screen with nothing on it says what belongs there and how it gets there.
import type { ReactNode } from 'react';

export function EmptyState({
  title,
  children,
  action,
  isScreen = false,
}: {
  title: string;
  children: ReactNode;
  action?: ReactNode;
  /** There is nothing else on the screen: this is its heading. */
  isScreen?: boolean;
}) {
  const Heading = isScreen ? 'h1' : 'h2';
  return (
    <div className="mx-auto flex w-full max-w-md flex-col items-center gap-3 px-4 py-16 text-center">
      <Heading className="text-lg font-semibold">{title}</Heading>
      <div className="w-full text-muted">{children}</div>
      {action}
    </div>
  );
}
