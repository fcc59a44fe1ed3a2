// Short messages in the corner: a completed action, with undo, or an error with a hint.
import { X } from 'lucide-react';
import { Toast } from 'radix-ui';
import { useSyncExternalStore } from 'react';
import { classNames } from '../lib/class-names.ts';
import { errorWords } from '../lib/error-words.ts';
import { closeTopDialog } from '../lib/open-dialogs.ts';

interface Message {
  id: number;
  text: string;
  hint?: string | undefined;
  kind: 'good' | 'bad';
  undo?: (() => void) | undefined;
}

let messages: readonly Message[] = [];
let lastId = 0;
const listeners = new Set<() => void>();
const change = (next: readonly Message[]): void => {
  messages = next;
  for (const listener of listeners) listener();
};

export function say(text: string, options: { undo?: () => void } = {}): void {
  lastId += 1;
  change([...messages, { id: lastId, text, kind: 'good', undo: options.undo }]);
}

export function sayError(error: unknown): void {
  lastId += 1;
  change([...messages, { id: lastId, ...errorWords(error), kind: 'bad' }]);
}

/** Escape closes the dialog unless the focus is in a message. */
function leaveDialogFirst(event: KeyboardEvent): void {
  const isInMessage = event.target instanceof Element && event.target.closest('[data-messages]') !== null;
  if (!isInMessage && closeTopDialog()) event.preventDefault();
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => messages,
  );
  const close = (id: number) => change(messages.filter((each) => each.id !== id));
  return (
    <Toast.Provider duration={8000} swipeDirection="right">
      {shown.map(({ id, text, hint, kind, undo }) => (
        <Toast.Root
          key={id}
          onOpenChange={(isOpen) => !isOpen && close(id)}
          onEscapeKeyDown={leaveDialogFirst}
          type={kind === 'bad' ? 'foreground' : 'background'}
          className={classNames(
            'flex items-start gap-3 rounded-md border border-line bg-surface px-4 py-3 shadow-lg',
            kind === 'bad' && 'border-l-4 border-l-bad',
          )}
        >
          <div className="min-w-0 flex-1">
            <Toast.Title className="font-medium break-words">{text}</Toast.Title>
            {hint && <Toast.Description className="text-[13px] text-muted">{hint}</Toast.Description>}
          </div>
          {undo && (
            <Toast.Action altText="Undo" onClick={undo} className="font-medium text-accent hover:underline">
              Undo
            </Toast.Action>
          )}
          <Toast.Close aria-label="Close" className="text-muted hover:text-text">
            <X size={16} />
          </Toast.Close>
        </Toast.Root>
      ))}
      <Toast.Viewport
        data-messages
        className="no-print fixed right-4 bottom-4 z-50 flex w-96 max-w-[calc(100vw-2rem)] flex-col gap-2"
      />
    </Toast.Provider>
  );
}
