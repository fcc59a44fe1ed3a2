// The command palette: pages, jobs by name and themes.
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { Dialog as Parts } from 'radix-ui';
import { useDeferredValue, useState } from 'react';
import { StatusChip } from '../../components/status-chip.tsx';
import { client } from '../../lib/client.ts';
import { setTheme, type Theme } from '../../lib/theme.ts';
import { JUMPS } from './keys.ts';

const JOBS_SHOWN = 8;
const THEMES: readonly (readonly [Theme, string])[] = [
  ['light', 'Light theme'],
  ['dark', 'Dark theme'],
  ['system', 'System theme'],
];
const SHORTCUTS = 'Keyboard shortcuts';
const itemClass =
  'flex cursor-pointer items-center justify-between gap-3 rounded-md px-3 py-2 data-[selected=true]:bg-accent-soft';
const groupClass =
  'not-first:mt-2 [&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:py-1.5 [&_[cmdk-group-heading]]:text-[13px] [&_[cmdk-group-heading]]:text-muted';

export interface CommandPaletteProps {
  onClose: () => void;
  onKeys: () => void;
  /** Screens that this server does not have or the user may not open. */
  hidden: readonly string[];
}

export function CommandPalette({ onClose, onKeys, hidden }: CommandPaletteProps) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const wanted = useDeferredValue(text.trim());
  const jobs = useQuery({
    queryKey: ['jobs', 'palette', wanted],
    queryFn: ({ signal }) =>
      client.listJobs({ pageSize: JOBS_SHOWN, ...(wanted !== '' && { search: wanted }) }, { signal }),
    placeholderData: (before) => before,
  });
  const run = (action: () => void) => () => {
    onClose();
    action();
  };
  const matches = (words: string) => words.toLowerCase().includes(text.trim().toLowerCase());
  const screens = JUMPS.filter(([, to, words]) => !hidden.includes(to) && matches(words));
  const themes = THEMES.filter(([, words]) => matches(words));
  const hasKeys = matches(SHORTCUTS);
  const values = [
    ...screens.map(([, to]) => to),
    ...(jobs.data?.items.map(({ jobId }) => jobId) ?? []),
    ...themes.map(([theme]) => `theme ${theme}`),
    ...(hasKeys ? ['keys'] : []),
  ];
  // Typing and pressing Enter at once opens the first match, not the previous selection.
  const [selected, setSelected] = useState('');
  const value = values.includes(selected) ? selected : (values[0] ?? '');
  return (
    <Parts.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Parts.Portal>
        <Parts.Overlay className="fixed inset-0 z-40 bg-black/40" />
        <Parts.Content
          aria-describedby={undefined}
          className="fixed top-[12vh] left-1/2 z-50 w-[calc(100%-2rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-surface shadow-xl"
        >
          <Parts.Title className="sr-only">Command palette</Parts.Title>
          <Command
            label="Command palette"
            shouldFilter={false}
            loop
            value={value}
            onValueChange={setSelected}
          >
            <Command.Input
              value={text}
              onValueChange={(next) => {
                setText(next);
                setSelected('');
              }}
              placeholder="Search pages and jobs…"
              className="w-full border-b border-line bg-transparent px-4 py-3.5 text-base outline-none placeholder:text-muted"
            />
            <Command.List className="max-h-[60vh] overflow-auto p-2">
              <Command.Empty className="px-3 py-6 text-center text-muted">No results</Command.Empty>
              {screens.length > 0 && (
                <Command.Group heading="Go to" className={groupClass}>
                  {screens.map(([key, to, words]) => (
                    <Command.Item
                      key={to}
                      value={to}
                      onSelect={run(() => void navigate({ to: to as '/jobs' }))}
                      className={itemClass}
                    >
                      {words}
                      <kbd className="font-mono text-xs text-muted">g {key}</kbd>
                    </Command.Item>
                  ))}
                </Command.Group>
              )}
              {jobs.data && jobs.data.items.length > 0 && (
                <Command.Group heading={wanted === '' ? 'Newest jobs' : 'Jobs'} className={groupClass}>
                  {jobs.data.items.map(({ jobId, name, state }) => (
                    <Command.Item
                      key={jobId}
                      value={jobId}
                      onSelect={run(() => void navigate({ to: '/jobs/$jobId', params: { jobId } }))}
                      className={itemClass}
                    >
                      <span className="min-w-0 truncate">{name || jobId.slice(0, 8)}</span>
                      <StatusChip status={state} />
                    </Command.Item>
                  ))}
                </Command.Group>
              )}
              {(themes.length > 0 || hasKeys) && (
                <Command.Group heading="Page" className={groupClass}>
                  {themes.map(([theme, words]) => (
                    <Command.Item
                      key={theme}
                      value={`theme ${theme}`}
                      onSelect={run(() => setTheme(theme))}
                      className={itemClass}
                    >
                      {words}
                    </Command.Item>
                  ))}
                  {hasKeys && (
                    <Command.Item value="keys" onSelect={run(onKeys)} className={itemClass}>
                      {SHORTCUTS} <kbd className="font-mono text-xs text-muted">?</kbd>
                    </Command.Item>
                  )}
                </Command.Group>
              )}
            </Command.List>
          </Command>
        </Parts.Content>
      </Parts.Portal>
    </Parts.Root>
  );
}
