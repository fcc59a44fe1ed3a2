// What is fetched and made only when it is first opened, and stays from then on.
import { type ReactNode, Suspense, useState } from 'react';

export function OnceOpen({ open, children }: { open: boolean; children: ReactNode }) {
  const [wasOpen, setWasOpen] = useState(open);
  if (open && !wasOpen) setWasOpen(true);
  return wasOpen && <Suspense>{children}</Suspense>;
}
