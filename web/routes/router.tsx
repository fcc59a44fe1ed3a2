// Addresses of the page. Screens are fetched when they are first shown; what is chosen on them stands in the address.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { z } from 'zod';
import { maySeeAll } from '../../src/contract/permission.ts';
import { client, isSignedOut, queries } from '../lib/client.ts';
import { basePath } from '../lib/server-page.ts';
import { AppShell } from '../screens/app-shell.tsx';
import { FailedScreen } from '../screens/failed-screen.tsx';
import { MissingScreen } from '../screens/missing-screen.tsx';

/** What stands outside the frame brings its own landmark. */
const failedPage = ({ error }: { error: unknown }) => (
  <main>
    <FailedScreen error={error} />
  </main>
);

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => (
    <main>
      <MissingScreen />
    </main>
  ),
  errorComponent: failedPage,
});

const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  component: lazyRouteComponent(() => import('../screens/sign-in/setup-screen.tsx'), 'SetupScreen'),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: z.object({ to: z.string().startsWith('/').optional() }),
  component: lazyRouteComponent(() => import('../screens/sign-in/sign-in-screen.tsx'), 'SignInScreen'),
});

/** Everything behind the sign-in. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: AppShell,
  errorComponent: failedPage,
  beforeLoad: async ({ location }) => {
    try {
      const session = await queries.ensureQueryData({
        queryKey: ['session'],
        queryFn: () => client.getSession(),
      });
      // An administrator passed on the link to a list of everybody's things: others see their own.
      const { all, ...search } = location.search as { all?: unknown };
      if (all !== undefined && !maySeeAll(session))
        throw redirect({ to: location.pathname as '/jobs', search, replace: true });
    } catch (error) {
      if (!isSignedOut(error)) throw error;
      const { needed } = await client.getSetup();
      throw needed ? redirect({ to: '/setup' }) : redirect({ to: '/sign-in', search: { to: location.href } });
    }
  },
});

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/jobs' });
  },
});

export const jobsRoute = createRoute({
  getParentRoute: () => shell,
  path: '/jobs',
  validateSearch: z.object({
    states: z.string().optional(),
    search: z.string().optional(),
    all: z.boolean().optional(),
  }),
  component: lazyRouteComponent(() => import('../screens/jobs/jobs-screen.tsx'), 'JobsScreen'),
});

export const newJobRoute = createRoute({
  getParentRoute: () => shell,
  path: '/jobs/new',
  validateSearch: z.object({ pipeline: z.string().optional() }),
  component: lazyRouteComponent(() => import('../screens/new-job/new-job-screen.tsx'), 'NewJobScreen'),
});

export const jobRoute = createRoute({
  getParentRoute: () => shell,
  path: '/jobs/$jobId',
  validateSearch: z.object({
    tab: z
      .enum(['items', 'tree', 'pending', 'errors', 'rejected', 'files', 'generations', 'activity'])
      .optional()
      .catch(undefined),
    /** Charts and limits are shown. */
    overview: z.boolean().optional().catch(undefined),
    statuses: z.string().optional().catch(undefined),
    search: z.coerce.string().max(1000).optional().catch(undefined),
    phase: z.number().int().min(0).optional().catch(undefined),
    errorGroup: z.string().optional().catch(undefined),
    /** Which of the pending rows are listed. */
    pending: z.enum(['PENDING', 'PROCESSING', 'RETRYING', 'HELD']).optional().catch(undefined),
    /** Days between which they changed last. */
    from: z.string().optional().catch(undefined),
    to: z.string().optional().catch(undefined),
    /** The row whose drawer is open. */
    row: z.number().int().min(0).optional().catch(undefined),
  }),
  // Fetched beside the code of the screen.
  loader: ({ params: { jobId } }) => {
    void queries.prefetchQuery({
      queryKey: ['job', jobId],
      queryFn: ({ signal }) => client.getJob({ jobId }, { signal }),
    });
  },
  component: lazyRouteComponent(() => import('../screens/job/job-screen.tsx'), 'JobScreen'),
});

export const pendingRoute = createRoute({
  getParentRoute: () => shell,
  path: '/pending',
  validateSearch: z.object({
    statuses: z.string().optional(),
    jobType: z.string().optional(),
    jobId: z.string().optional(),
    from: z.string().optional(),
    to: z.string().optional(),
    all: z.boolean().optional(),
  }),
  component: lazyRouteComponent(() => import('../screens/pending/pending-screen.tsx'), 'PendingScreen'),
});

const workers = createRoute({
  getParentRoute: () => shell,
  path: '/workers',
  component: lazyRouteComponent(() => import('../screens/workers/workers-screen.tsx'), 'WorkersScreen'),
});

export const resourcesRoute = createRoute({
  getParentRoute: () => shell,
  path: '/resources',
  validateSearch: z.object({ name: z.string().optional() }),
  component: lazyRouteComponent(() => import('../screens/resources/resources-screen.tsx'), 'ResourcesScreen'),
});

export const webhooksRoute = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks',
  validateSearch: z.object({ all: z.boolean().optional() }),
  component: lazyRouteComponent(() => import('../screens/webhooks/webhooks-screen.tsx'), 'WebhooksScreen'),
});

export const webhookRoute = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/$webhookId',
  validateSearch: z.object({ state: z.enum(['PENDING', 'DELIVERED', 'DEAD']).optional() }),
  component: lazyRouteComponent(() => import('../screens/webhooks/webhook-screen.tsx'), 'WebhookScreen'),
});

export const countersRoute = createRoute({
  getParentRoute: () => shell,
  path: '/counters',
  validateSearch: z.object({ all: z.boolean().optional().catch(undefined) }),
  component: lazyRouteComponent(() => import('../screens/counters/counters-screen.tsx'), 'CountersScreen'),
});

const counterSearch = z.object({
  /** Entities unless it says otherwise. */
  list: z.enum(['scopes']).optional().catch(undefined),
  /** What the screen is of: the scopes of an entity, or the entities of a scope. */
  entity: z.coerce.string().min(1).max(1000).optional().catch(undefined),
  scope: z.coerce.string().min(1).max(500).optional().catch(undefined),
  prefix: z.coerce.string().max(1000).optional().catch(undefined),
  sortBy: z.coerce.string().max(100).optional().catch(undefined),
  order: z.enum(['asc']).optional().catch(undefined),
  all: z.boolean().optional().catch(undefined),
});
export type CounterSearch = z.infer<typeof counterSearch>;

export const counterRoute = createRoute({
  getParentRoute: () => shell,
  path: '/counters/$counter',
  validateSearch: counterSearch,
  component: lazyRouteComponent(() => import('../screens/counters/counter-screen.tsx'), 'CounterScreen'),
});

export const SETTINGS_TABS = ['account', 'keys', 'people', 'owners', 'sources', 'audit', 'server'] as const;
export const settingsRoute = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  validateSearch: z.object({
    tab: z.enum(SETTINGS_TABS).optional(),
    actor: z.string().optional(),
    subject: z.string().optional(),
  }),
  component: lazyRouteComponent(() => import('../screens/settings/settings-screen.tsx'), 'SettingsScreen'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    setup,
    signIn,
    shell.addChildren([
      home,
      jobsRoute,
      newJobRoute,
      jobRoute,
      pendingRoute,
      workers,
      resourcesRoute,
      webhooksRoute,
      webhookRoute,
      countersRoute,
      counterRoute,
      settingsRoute,
    ]),
  ]),
  basepath: basePath === '' ? '/' : basePath,
  defaultErrorComponent: FailedScreen,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
