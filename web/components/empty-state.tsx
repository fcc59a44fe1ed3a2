// An empty screen or list: what belongs here and how to get it.
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
  /** The empty state is the whole screen, so its title is the h1. */
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
