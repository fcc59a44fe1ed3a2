// A dialog over the page. Escape and the cross close it; focus stays inside and returns afterwards.
import { X } from 'lucide-react';
import { Dialog as Parts } from 'radix-ui';
import { type ReactNode, useEffect, useEffectEvent, useRef } from 'react';
import { classNames } from '../lib/class-names.ts';
import { addOpenDialog } from '../lib/open-dialogs.ts';

export interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  description?: ReactNode;
  children: ReactNode;
  /** Opens as a panel at the side, so that the list stays visible. */
  side?: boolean;
}

export function Dialog({ open, onClose, title, description, children, side = false }: DialogProps) {
  // Dialogs here have no trigger element, so the focus is restored by hand.
  const before = useRef<Element | null>(null);
  const close = useEffectEvent(onClose);
  useEffect(() => (open ? addOpenDialog(() => close()) : undefined), [open]);
  return (
    <Parts.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Parts.Portal>
        <Parts.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Parts.Content
          {...(!description && { 'aria-describedby': undefined })}
          onOpenAutoFocus={() => {
            before.current = document.activeElement;
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
          }}
          className={classNames(
            'fixed z-50 flex flex-col border border-line bg-surface shadow-xl',
            side
              ? 'inset-y-0 right-0 w-full max-w-2xl border-y-0 border-r-0'
              : 'top-[10vh] left-1/2 max-h-[80vh] w-[calc(100%-2rem)] max-w-lg -translate-x-1/2 rounded-lg',
          )}
        >
          <div className="flex items-start justify-between gap-4 border-b border-line px-5 py-3.5">
            <div>
              <Parts.Title className="text-base font-semibold">{title}</Parts.Title>
              {description && <Parts.Description className="text-muted">{description}</Parts.Description>}
            </div>
            <Parts.Close
              aria-label="Close"
              className="rounded p-1 text-muted hover:bg-sunken hover:text-text"
            >
              <X size={18} />
            </Parts.Close>
          </div>
          <div className="min-h-0 flex-1 overflow-auto px-5 py-4">{children}</div>
        </Parts.Content>
      </Parts.Portal>
    </Parts.Root>
  );
}
