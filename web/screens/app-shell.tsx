// The frame of every screen: navigation, connection state, theme and account.
import { Link, Outlet } from '@tanstack/react-router';
import {
  Activity,
  Bell,
  Coins,
  Eye,
  Gauge,
  Hourglass,
  LayoutDashboard,
  LogOut,
  Menu,
  Monitor,
  Moon,
  Rows3,
  Search,
  Server,
  Settings,
  Sigma,
  Sun,
  UserRound,
  Workflow,
} from 'lucide-react';
import { type ReactNode, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { Toasts } from '../components/toasts.tsx';
import { classNames } from '../lib/class-names.ts';
import { commandKey } from '../lib/command-key.ts';
import { useConfiguration, useReloadError } from '../lib/configuration.ts';
import { type LiveState, useLiveEvents, useLiveState } from '../lib/live.ts';
import { usePermission } from '../lib/permission.ts';
import { useSession, useSignOut } from '../lib/session.ts';
import { setTheme, type Theme, useTheme } from '../lib/theme.ts';
import { type Overlay, Overlays } from './overlays.tsx';

const linkClass =
  'flex items-center gap-2.5 rounded-md px-2.5 py-1.5 text-muted hover:bg-sunken hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:text-text aria-[current=page]:font-medium';

/** Groups of screens: work, what it runs and costs, and what it runs on. */
const SCREENS = [
  [
    ['/overview', 'Overview', LayoutDashboard],
    ['/jobs', 'Jobs', Activity],
    ['/pending', 'In progress', Hourglass],
  ],
  [
    ['/pipelines', 'Pipelines', Workflow],
    ['/cost', 'Cost', Coins],
    ['/counters', 'Counters', Sigma],
  ],
  [
    ['/workers', 'Workers', Server],
    ['/resources', 'Resources', Gauge],
    ['/webhooks', 'Alerts', Bell],
    ['/settings', 'Settings', Settings],
  ],
] as const;

/** The router renders everything at once. Deferred, frame and screen render in small steps. */
export function AppShell() {
  const isBegun = useDeferredValue(true, false);
  return isBegun && <Frame />;
}

function Frame() {
  useLiveEvents();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [overlay, setOverlay] = useState<Overlay>(null);
  const hidden = useHiddenScreens();
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <a
        href="#content"
        className="sr-only focus:not-sr-only focus:fixed focus:z-50 focus:m-2 focus:rounded focus:bg-surface focus:p-2"
      >
        Skip to content
      </a>
      <nav
        aria-label="Main navigation"
        className="flex flex-wrap items-center gap-1 border-b border-line bg-surface px-3 py-2 md:sticky md:top-0 md:h-dvh md:w-52 md:shrink-0 md:flex-col md:flex-nowrap md:items-stretch md:overflow-y-auto md:border-r md:border-b-0 md:p-3"
      >
        <Link
          to="/overview"
          className="mr-auto flex items-center gap-2 px-2 text-base font-semibold md:mr-0 md:pb-3"
        >
          <Rows3 size={20} className="text-accent" aria-hidden /> Rowmill
        </Link>
        <button
          type="button"
          onClick={() => setOverlay('palette')}
          aria-label="Search or jump to…"
          aria-keyshortcuts="Control+K Meta+K"
          className={classNames(linkClass, 'md:mb-2 md:border md:border-line')}
        >
          <Search size={16} aria-hidden />
          <span className="hidden flex-1 text-left md:inline">Search…</span>
          <kbd aria-hidden className="hidden font-mono text-xs md:inline">
            {commandKey === '⌘' ? '⌘K' : 'Ctrl K'}
          </kbd>
        </button>
        <button
          type="button"
          className={classNames(linkClass, 'md:hidden')}
          aria-expanded={isMenuOpen}
          aria-controls="menu"
          aria-label="Menu"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Menu size={18} aria-hidden />
        </button>
        <div
          id="menu"
          className={classNames(
            'w-full flex-col gap-1 pt-2 md:flex md:flex-1 md:pt-0',
            isMenuOpen ? 'flex' : 'hidden',
          )}
        >
          {SCREENS.map((group) => (
            <div
              key={group[0][0]}
              className="flex flex-col gap-0.5 not-first:border-t not-first:border-line not-first:pt-1"
            >
              {group
                .filter(([to]) => !hidden.includes(to))
                .map(([to, words, Icon]) => (
                  <Link key={to} to={to} className={linkClass} onClick={() => setMenuOpen(false)}>
                    <Icon size={16} aria-hidden /> {words}
                  </Link>
                ))}
            </div>
          ))}
          <div className="flex flex-col gap-1 border-t border-line pt-1 md:mt-auto md:border-0">
            <LiveSign />
            <ThemeSwitch />
            <Account />
          </div>
        </div>
      </nav>
      <main id="content" tabIndex={-1} className="min-w-0 flex-1 outline-none">
        <LostNotice />
        <ReloadNotice />
        <Outlet />
      </main>
      <Toasts />
      <Overlays open={overlay} onOpen={setOverlay} hidden={hidden} />
    </div>
  );
}

/** Screens that this server does not have or that the user may not open. */
function useHiddenScreens(): readonly string[] {
  const configuration = useConfiguration();
  const canCreate = usePermission().can('createJob');
  const hasPending = configuration.data?.features.pendingDashboard === true;
  return useMemo(
    () => [...(hasPending ? [] : ['/pending']), ...(canCreate ? [] : ['/jobs/new'])],
    [hasPending, canCreate],
  );
}

const LIVE_WORDS: Record<LiveState, string> = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Reconnecting…',
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

/** A restarting server is back within this time, so the notice waits. */
const LOST_MS = 1000;

/** A notice that the numbers on the screen are out of date. */
function LostNotice() {
  const isLost = useLiveState() === 'lost';
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    if (!isLost) return;
    const timer = setTimeout(() => setShown(true), LOST_MS);
    return () => {
      clearTimeout(timer);
      setShown(false);
    };
  }, [isLost]);
  return (
    <div role="status" className="sticky top-0 z-30">
      {isShown && (
        <p className="bg-warn-soft px-4 py-2 text-warn">
          Can't reach the server. Numbers on this page are out of date.
        </p>
      )}
    </div>
  );
}

/** A notice that changed code is not in use yet, because it does not load. */
function ReloadNotice() {
  const error = useReloadError();
  return (
    <div role="status" className="sticky top-0 z-30">
      {error && (
        <div className="bg-bad-soft px-4 py-2 text-bad">
          <p className="font-medium break-words">
            Reload failed, the earlier code stays in use: {error.message}
          </p>
          {error.hint !== '' && <p className="text-[13px]">{error.hint}</p>}
        </div>
      )}
    </div>
  );
}

const NEXT_THEME: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const THEME_ICONS: Record<Theme, ReactNode> = {
  system: <Monitor size={16} aria-hidden />,
  light: <Sun size={16} aria-hidden />,
  dark: <Moon size={16} aria-hidden />,
};
const THEME_WORDS: Record<Theme, string> = {
  system: 'Theme: system',
  light: 'Theme: light',
  dark: 'Theme: dark',
};

function ThemeSwitch() {
  const theme = useTheme();
  return (
    <button
      type="button"
      onClick={() => setTheme(NEXT_THEME[theme])}
      className={linkClass}
      aria-label={`${THEME_WORDS[theme]}. Change theme`}
    >
      {THEME_ICONS[theme]} {THEME_WORDS[theme]}
    </button>
  );
}

function Account() {
  const session = useSession();
  const signOut = useSignOut();
  const whyNot = usePermission().whyNot('createJob');
  if (!session.data || session.data.via === 'none') return null;
  return (
    <>
      {whyNot !== null && (
        <p title={whyNot} className="flex items-center gap-2.5 px-2.5 py-1 text-[13px] text-muted">
          <Eye size={16} className="shrink-0" aria-hidden /> View only
        </p>
      )}
      <p
        title={`Signed in as ${session.data.userId}`}
        className="flex items-center gap-2.5 px-2.5 py-1 text-[13px] text-muted"
      >
        <UserRound size={16} className="shrink-0" aria-hidden />
        <span className="truncate">{session.data.userId}</span>
      </p>
      <button type="button" onClick={() => signOut()} className={linkClass}>
        <LogOut size={16} className="shrink-0" aria-hidden /> Sign out
      </button>
    </>
  );
}
