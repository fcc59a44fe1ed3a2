// Global keyboard shortcuts: command palette, list of shortcuts, and two-key jumps such as g j.

export type KeyAction = 'palette' | 'keys' | { go: string };

export const JUMPS: readonly (readonly [key: string, to: string, words: string])[] = [
  ['o', '/overview', 'Overview'],
  ['j', '/jobs', 'Jobs'],
  ['n', '/jobs/new', 'New job'],
  ['p', '/pending', 'In progress'],
  ['l', '/pipelines', 'Pipelines'],
  ['m', '/cost', 'Cost'],
  ['w', '/workers', 'Workers'],
  ['r', '/resources', 'Resources'],
  ['c', '/counters', 'Counters'],
  ['h', '/webhooks', 'Alerts and webhooks'],
  ['s', '/settings', 'Settings'],
];

interface Pressed {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  /** The focus is in a text field. */
  isTyping: boolean;
}

/** The action of a key, given the key before it. */
export function actionOf(pressed: Pressed, before: string | null): KeyAction | null {
  const key = pressed.key.toLowerCase();
  const isCommand = pressed.ctrlKey || pressed.metaKey;
  if (isCommand && key === 'k' && !pressed.altKey) return 'palette';
  if (isCommand || pressed.altKey || pressed.isTyping) return null;
  if (key === '?') return 'keys';
  const jump = before === 'g' && JUMPS.find(([each]) => each === key);
  return jump ? { go: jump[1] } : null;
}
