// Keyboard navigation of a tree: up and down through visible rows, right to expand and enter, left to collapse and
// leave.
import type { KeyboardEvent } from 'react';

const PARTS = '[role="treeitem"]';

export function walkTree(event: KeyboardEvent<HTMLElement>): void {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const here = (event.target as HTMLElement).closest<HTMLElement>(PARTS);
  if (!here) return;
  const action = ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action(here, [...event.currentTarget.querySelectorAll<HTMLElement>(PARTS)]);
}

type Action = (here: HTMLElement, all: HTMLElement[]) => void;

const step =
  (by: number): Action =>
  (here, all) =>
    all[all.indexOf(here) + by]?.focus();
const act: Action = (here) => here.querySelector<HTMLElement>('[data-act]')?.click();
const toggle: Action = (here) => here.querySelector<HTMLElement>('[data-act] [data-toggle]')?.click();
const isOpen = (here: HTMLElement): boolean => here.ariaExpanded === 'true';

const ACTIONS: Record<string, Action> = {
  ArrowDown: step(1),
  ArrowUp: step(-1),
  Home: (_, all) => all[0]?.focus(),
  End: (_, all) => all.at(-1)?.focus(),
  Enter: act,
  ' ': toggle,
  ArrowRight: (here, all) => {
    if (here.ariaExpanded === 'false') toggle(here, all);
    else if (isOpen(here)) here.querySelector<HTMLElement>(PARTS)?.focus();
  },
  ArrowLeft: (here, all) => {
    if (isOpen(here)) toggle(here, all);
    else here.parentElement?.closest<HTMLElement>(PARTS)?.focus();
  },
};
