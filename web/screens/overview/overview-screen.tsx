// The start page: what runs, what needs a person, the work of today and the health of services.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Answered } from '../../../src/client/route-call.ts';
import type { Routes } from '../../../src/contract/routes.ts';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { buttonClass } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Page } from '../../components/page.tsx';
import { Section } from '../../components/section.tsx';
import { client } from '../../lib/client.ts';
import { formatCount } from '../../lib/format.ts';
import { usePermission } from '../../lib/permission.ts';
import { overviewRoute } from '../../routes/router.tsx';
import { Attention } from './attention.tsx';
import { RunningJobs } from './running-jobs.tsx';

export type Overview = Answered<Routes['getOverview']>;

/** Events of jobs refresh the screen at once; workers, services and the work of today come with the interval. */
const REFRESH_MS = 10_000;

export function OverviewScreen() {
  const { all } = overviewRoute.useSearch();
  const navigate = useNavigate({ from: '/overview' });
  const { can, seesAll } = usePermission();
  const overview = useQuery({
    queryKey: ['jobs', 'overview', all],
    queryFn: ({ signal }) => client.getOverview(all ? { all: 'true' } : {}, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });
  return (
    <Page
      title="Overview"
      actions={
        <>
          {seesAll && (
            <CheckField
              label="Show everyone's jobs"
              checked={all ?? false}
              onChange={({ target }) =>
                void navigate({ search: target.checked ? { all: true } : {}, replace: true })
              }
            />
          )}
          {can('createJob') && (
            <Link to="/jobs/new" className={buttonClass('primary', 'normal')}>
              <Plus size={16} aria-hidden /> New job
            </Link>
          )}
        </>
      }
    >
      {overview.isError && <FailureNote error={overview.error} />}
      {overview.isPending && <p className="text-muted">Loading…</p>}
      {overview.data && (
        <>
          <Attention overview={overview.data} all={all} />
          <RunningJobs jobs={overview.data.running} all={all} />
          <div className="grid gap-4 lg:grid-cols-2">
            <Today today={overview.data.today} all={all} />
            <Services services={overview.data.services} />
          </div>
        </>
      )}
    </Page>
  );
}

function Today({ today, all }: { today: Overview['today']; all: boolean | undefined }) {
  const { day, rows, failed, jobs, costs } = today;
  const link = (children: ReactNode) => (
    <Link to="/cost" search={{ from: day, to: day, ...(all && { all }) }} className="hover:underline">
      {children}
    </Link>
  );
  return (
    <Section title="Today" aside="since midnight UTC">
      <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        <Fact name="Rows processed">{link(formatCount(rows))}</Fact>
        <Fact name="Failed rows">{link(formatCount(failed))}</Fact>
        <Fact name="Jobs">{link(formatCount(jobs))}</Fact>
        <Fact name="Cost">
          {costs.length === 0
            ? link('—')
            : costs.map(({ costUnit, cost }) => (
                <span key={costUnit} className="block">
                  {link(formatCost(cost, costUnit))}
                </span>
              ))}
        </Fact>
      </dl>
    </Section>
  );
}

function Services({ services }: { services: Overview['services'] }) {
  const { workersOnline, slotsBusy, slots, resources, databaseMs } = services;
  return (
    <Section title="Services">
      <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
        <Fact name="Workers online">
          <Link
            to="/workers"
            className={workersOnline === 0 ? 'text-bad hover:underline' : 'hover:underline'}
          >
            {formatCount(workersOnline)}
          </Link>
        </Fact>
        <Fact name="Slots in use">
          <Link to="/workers" className="hover:underline">
            {formatCount(slotsBusy)} of {formatCount(slots)}
          </Link>
        </Fact>
        <Fact name="Resources">
          <Link to="/resources" className="hover:underline">
            {formatCount(resources)}
          </Link>
        </Fact>
        <Fact name="Database">{formatCount(databaseMs)} ms</Fact>
      </dl>
    </Section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-[13px] text-muted">{name}</dt>
      <dd className="m-0 text-lg font-semibold tabular-nums">{children}</dd>
    </div>
  );
}
