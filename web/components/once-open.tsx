// Mounts its content when it is first opened, and keeps it mounted.
import { type ReactNode, Suspense, useState } from 'react';

export function OnceOpen({ open, children }: { open: boolean; children: ReactNode }) {
  const [wasOpen, setWasOpen] = useState(open);
  if (open && !wasOpen) setWasOpen(true);
  return wasOpen && <Suspense>{children}</Suspense>;
}
