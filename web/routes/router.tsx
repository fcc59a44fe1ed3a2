// Routes of the page. Screens load when they are first shown; filters and selections are in the URL.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { maySeeAll } from '../../src/contract/permission.ts';
import { JOB_NEEDS } from '../../src/core/jobs/job-need.ts';
import { ROW_CHANGES } from '../../src/core/jobs/run-comparison.ts';
import { client, isSignedOut, queries } from '../lib/client.ts';
import { fetchPart } from '../lib/fetch-part.ts';
import { flag, oneOf, path, readSearch, text, wholeNumber } from '../lib/read-search.ts';
import { basePath } from '../lib/server-page.ts';
import { AppShell } from '../screens/app-shell.tsx';
import { FailedScreen } from '../screens/failed-screen.tsx';
import { prefetchJob } from '../screens/job/prefetch-job.ts';
import { MissingScreen } from '../screens/missing-screen.tsx';

/** Pages outside the app shell need their own landmark. */
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
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/sign-in/setup-screen.tsx')),
    'SetupScreen',
  ),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: readSearch({ to: path }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/sign-in/sign-in-screen.tsx')),
    'SignInScreen',
  ),
});

/** Routes behind the sign-in. */
const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: AppShell,
  errorComponent: failedPage,
  beforeLoad: async ({ location, matches }): Promise<void> => {
    const session = queries.ensureQueryData({ queryKey: ['session'], queryFn: () => client.getSession() });
    // Load the screen while the session is being checked.
    for (const { routeId, params } of matches) {
      if (routeId === jobRoute.id) prefetchJob(params.jobId!, readJobSearch(location.search));
      void router.loadRouteChunk(router.routesById[routeId]);
    }
    try {
      const caller = await session;
      // A link of an administrator with `all` shows other users their own things.
      const { all, ...search } = location.search as { all?: unknown };
      if (all !== undefined && !maySeeAll(caller))
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
    throw redirect({ to: '/overview' });
  },
});

export const overviewRoute = createRoute({
  getParentRoute: () => shell,
  path: '/overview',
  validateSearch: readSearch({ all: flag }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/overview/overview-screen.tsx')),
    'OverviewScreen',
  ),
});

export const pipelinesRoute = createRoute({
  getParentRoute: () => shell,
  path: '/pipelines',
  validateSearch: readSearch({ all: flag }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/pipelines/pipelines-screen.tsx')),
    'PipelinesScreen',
  ),
});

export const pipelineRoute = createRoute({
  getParentRoute: () => shell,
  path: '/pipelines/$name',
  validateSearch: readSearch({ all: flag }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/pipelines/pipeline-screen.tsx')),
    'PipelineScreen',
  ),
});

export const costRoute = createRoute({
  getParentRoute: () => shell,
  path: '/cost',
  /** The first and the last day, in UTC. */
  validateSearch: readSearch({ from: text(), to: text(), all: flag }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/cost/cost-screen.tsx')),
    'CostScreen',
  ),
});

export const jobsRoute = createRoute({
  getParentRoute: () => shell,
  path: '/jobs',
  validateSearch: readSearch({
    ...{ states: text(), search: text(), pipeline: text(), all: flag },
    /** Why the jobs need a person, as the overview counts them. */
    needs: oneOf(JOB_NEEDS),
  }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/jobs/jobs-screen.tsx')),
    'JobsScreen',
  ),
});

export const newJobRoute = createRoute({
  getParentRoute: () => shell,
  path: '/jobs/new',
  validateSearch: readSearch({ pipeline: text() }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/new-job/new-job-screen.tsx')),
    'NewJobScreen',
  ),
});

const readJobSearch = readSearch({
  tab: oneOf(['items', 'tree', 'pending', 'errors', 'rejected', 'files', 'generations', 'activity']),
  /** Whether charts and limits are shown. */
  overview: flag,
  statuses: text(),
  search: text({ max: 1000 }),
  /** Order of the rows, as in requests. */
  sort: text({ max: 300 }),
  phase: wholeNumber,
  errorGroup: text(),
  /** Status filter of the tab "In progress". */
  pending: oneOf(['PENDING', 'PROCESSING', 'RETRYING', 'HELD']),
  /** Range of days in which the rows were updated. */
  from: text(),
  to: text(),
  /** The runs that are compared, and the kind of change that is shown. */
  runFrom: wholeNumber,
  runTo: wholeNumber,
  change: oneOf(ROW_CHANGES),
  /** The row whose drawer is open. */
  row: wholeNumber,
});

export const jobRoute = createRoute({
  getParentRoute: () => shell,
  path: '/jobs/$jobId',
  validateSearch: readJobSearch,
  loader: ({ params: { jobId }, location, cause }) => {
    if (cause !== 'stay') prefetchJob(jobId, readJobSearch(location.search));
  },
  component: lazyRouteComponent(() => fetchPart(() => import('../screens/job/job-screen.tsx')), 'JobScreen'),
});

export const pendingRoute = createRoute({
  getParentRoute: () => shell,
  path: '/pending',
  validateSearch: readSearch({
    statuses: text(),
    jobType: text(),
    jobId: text(),
    from: text(),
    to: text(),
    all: flag,
  }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/pending/pending-screen.tsx')),
    'PendingScreen',
  ),
});

const workers = createRoute({
  getParentRoute: () => shell,
  path: '/workers',
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/workers/workers-screen.tsx')),
    'WorkersScreen',
  ),
});

export const workerRoute = createRoute({
  getParentRoute: () => shell,
  path: '/workers/$workerId',
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/workers/worker-screen.tsx')),
    'WorkerScreen',
  ),
});

export const resourcesRoute = createRoute({
  getParentRoute: () => shell,
  path: '/resources',
  validateSearch: readSearch({ name: text() }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/resources/resources-screen.tsx')),
    'ResourcesScreen',
  ),
});

export const webhooksRoute = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks',
  validateSearch: readSearch({ all: flag }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/webhooks/webhooks-screen.tsx')),
    'WebhooksScreen',
  ),
});

export const webhookRoute = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks/$webhookId',
  validateSearch: readSearch({ state: oneOf(['PENDING', 'DELIVERED', 'DEAD']) }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/webhooks/webhook-screen.tsx')),
    'WebhookScreen',
  ),
});

export const countersRoute = createRoute({
  getParentRoute: () => shell,
  path: '/counters',
  validateSearch: readSearch({ all: flag }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/counters/counters-screen.tsx')),
    'CountersScreen',
  ),
});

const readCounterSearch = readSearch({
  /** Lists entities unless set. */
  list: oneOf(['scopes']),
  /** The entity or scope that the screen shows. */
  entity: text({ min: 1, max: 1000 }),
  scope: text({ min: 1, max: 500 }),
  prefix: text({ max: 1000 }),
  sortBy: text({ max: 100 }),
  order: oneOf(['asc']),
  all: flag,
});
export type CounterSearch = ReturnType<typeof readCounterSearch>;

export const counterRoute = createRoute({
  getParentRoute: () => shell,
  path: '/counters/$counter',
  validateSearch: readCounterSearch,
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/counters/counter-screen.tsx')),
    'CounterScreen',
  ),
});

export const SETTINGS_TABS = ['account', 'keys', 'people', 'owners', 'sources', 'audit', 'server'] as const;
export const settingsRoute = createRoute({
  getParentRoute: () => shell,
  path: '/settings',
  validateSearch: readSearch({ tab: oneOf(SETTINGS_TABS), actor: text(), subject: text() }),
  component: lazyRouteComponent(
    () => fetchPart(() => import('../screens/settings/settings-screen.tsx')),
    'SettingsScreen',
  ),
});

export const router = createRouter({
  routeTree: root.addChildren([
    setup,
    signIn,
    shell.addChildren([
      home,
      overviewRoute,
      pipelinesRoute,
      pipelineRoute,
      costRoute,
      jobsRoute,
      newJobRoute,
      jobRoute,
      pendingRoute,
      workers,
      workerRoute,
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
