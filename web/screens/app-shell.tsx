// The frame of every screen: where one can go, whether the page is live, who is signed in.
import { Link, Outlet } from '@tanstack/react-router';
import { Activity, LogOut, Monitor, Moon, Rows3, Sun } from 'lucide-react';
import type { ReactNode } from 'react';
import { Toasts } from '../components/toasts.tsx';
import { classNames } from '../lib/class-names.ts';
import { type LiveState, useLiveEvents, useLiveState } from '../lib/live.ts';
import { useSession, useSignOut } from '../lib/session.ts';
import { setTheme, type Theme, useTheme } from '../lib/theme.ts';

const linkClass =
  'flex items-center gap-2.5 rounded-md px-2.5 py-1.5 text-muted hover:bg-sunken hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:text-text aria-[current=page]:font-medium';

export function AppShell() {
  useLiveEvents();
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:z-50 focus:m-2 focus:rounded focus:bg-surface focus:p-2"
      >
        Skip to content
      </a>
      <nav
        aria-label="Main"
        className="flex items-center gap-1 border-b border-line bg-surface px-3 py-2 md:sticky md:top-0 md:h-dvh md:w-52 md:shrink-0 md:flex-col md:items-stretch md:border-r md:border-b-0 md:p-3"
      >
        <Link
          to="/jobs"
          className="mr-3 flex items-center gap-2 px-2 text-base font-semibold md:mr-0 md:pb-3"
        >
          <Rows3 size={20} className="text-accent" aria-hidden /> Rowmill
        </Link>
        <Link to="/jobs" className={linkClass}>
          <Activity size={16} aria-hidden /> Jobs
        </Link>
        <div className="ml-auto flex items-center gap-1 md:mt-auto md:ml-0 md:flex-col md:items-stretch">
          <LiveSign />
          <ThemeSwitch />
          <Account />
        </div>
      </nav>
      <main id="content" className="min-w-0 flex-1">
        <Outlet />
      </main>
      <Toasts />
    </div>
  );
}

const LIVE_WORDS: Record<LiveState, string> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Reconnecting',
};

function LiveSign() {
  const state = useLiveState();
  return (
    <div role="status" className="flex items-center gap-2 px-2.5 py-1 text-[13px] text-muted">
      <span
        aria-hidden
        className={classNames(
          'size-2 rounded-full',
          state === 'live' ? 'bg-good' : state === 'lost' ? 'bg-warn' : 'bg-quiet',
        )}
      />
      {LIVE_WORDS[state]}
    </div>
  );
}

const NEXT_THEME: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const THEME_ICONS: Record<Theme, ReactNode> = {
  system: <Monitor size={16} aria-hidden />,
  light: <Sun size={16} aria-hidden />,
  dark: <Moon size={16} aria-hidden />,
};

function ThemeSwitch() {
  const theme = useTheme();
  return (
    <button
      type="button"
      onClick={() => setTheme(NEXT_THEME[theme])}
      className={linkClass}
      aria-label={`Colours: ${theme}. Change`}
    >
      {THEME_ICONS[theme]} <span className="hidden capitalize md:inline">{theme}</span>
    </button>
  );
}

function Account() {
  const session = useSession();
  const signOut = useSignOut();
  if (!session.data || session.data.via === 'none') return null;
  return (
    <button
      type="button"
      onClick={() => signOut()}
      className={linkClass}
      title={`Signed in as ${session.data.userId}`}
    >
      <LogOut size={16} aria-hidden /> <span className="truncate">Sign out {session.data.userId}</span>
    </button>
  );
}
