// Overlays of every screen: command palette, keyboard shortcuts and password dialogs. Loaded on first use.
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef, useSyncExternalStore } from 'react';
import { fetchPart } from '../lib/fetch-part.ts';
import { sessionEnd } from '../lib/session-end.ts';
import { passwordQuestion } from '../lib/with-password.ts';
import { actionOf } from './palette/keys.ts';

const CommandPalette = lazy(() =>
  fetchPart(() => import('./palette/command-palette.tsx')).then((module) => ({
    default: module.CommandPalette,
  })),
);
const KeysDialog = lazy(() =>
  fetchPart(() => import('./palette/keys-dialog.tsx')).then((module) => ({ default: module.KeysDialog })),
);
const PasswordPrompt = lazy(() =>
  fetchPart(() => import('./settings/password-prompt.tsx')).then((module) => ({
    default: module.PasswordPrompt,
  })),
);

const SignInAgain = lazy(() =>
  fetchPart(() => import('./sign-in/sign-in-again.tsx')).then((module) => ({ default: module.SignInAgain })),
);

export type Overlay = 'palette' | 'keys' | null;

export interface OverlaysProps {
  open: Overlay;
  onOpen: (overlay: Overlay) => void;
  hidden: readonly string[];
}

export function Overlays({ open, onOpen, hidden }: OverlaysProps) {
  useKeys(onOpen, hidden);
  const asksPassword = useSyncExternalStore(passwordQuestion.subscribe, passwordQuestion.isOpen);
  const hasEnded = useSyncExternalStore(sessionEnd.subscribe, sessionEnd.isKnown);
  return (
    <Suspense>
      {open === 'palette' && (
        <CommandPalette onClose={() => onOpen(null)} onKeys={() => onOpen('keys')} hidden={hidden} />
      )}
      {open === 'keys' && <KeysDialog onClose={() => onOpen(null)} hidden={hidden} />}
      {asksPassword && <PasswordPrompt />}
      {hasEnded && <SignInAgain />}
    </Suspense>
  );
}

function useKeys(onOpen: (overlay: Overlay) => void, hidden: readonly string[]): void {
  const navigate = useNavigate();
  const before = useRef<string | null>(null);
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const action = actionOf(
        {
          key: event.key,
          ctrlKey: event.ctrlKey,
          metaKey: event.metaKey,
          altKey: event.altKey,
          isTyping: isTyping(event.target),
        },
        before.current,
      );
      before.current = event.key.toLowerCase();
      if (action === null || event.defaultPrevented) return;
      event.preventDefault();
      if (isBlocked()) return;
      if (typeof action === 'string') onOpen(action);
      else if (!hidden.includes(action.go)) void navigate({ to: action.go as '/jobs' });
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [navigate, onOpen, hidden]);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input:not([type=checkbox]), textarea, select'))
  );
}

/** An open dialog blocks the shortcuts. */
function isBlocked(): boolean {
  return document.querySelector('[role=dialog]') !== null;
}
