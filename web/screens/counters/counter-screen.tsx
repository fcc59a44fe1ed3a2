// One counter: its entities or its scopes; or one entity with its scopes, or one scope with its entities.
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useCallback } from 'react';
import type { ShownCounter } from '../../../src/contract/counters.ts';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { classNames } from '../../lib/class-names.ts';
import { client } from '../../lib/client.ts';
import { type CounterSearch, counterRoute } from '../../routes/router.tsx';
import { FailedScreen } from '../failed-screen.tsx';
import { MissingScreen } from '../missing-screen.tsx';
import { CounterRows } from './counter-rows.tsx';
import { MeasureTotals } from './measure-totals.tsx';
import { ShowEveryones } from './show-everyones.tsx';
import { ALL_EVERY_MS, useCounters } from './use-counters.ts';

export function CounterScreen() {
  const { counter: name } = counterRoute.useParams();
  const { all = false } = counterRoute.useSearch();
  const counters = useCounters(all);
  if (counters.isError && !counters.data) return <FailedScreen error={counters.error} />;
  if (counters.isPending) return <Loading isScreen />;
  const counter = counters.data.items.find((each) => each.name === name);
  return counter ? <KnownCounter counter={counter} /> : <MissingScreen />;
}

function KnownCounter({ counter }: { counter: ShownCounter }) {
  const search = counterRoute.useSearch();
  const navigate = useNavigate({ from: '/counters/$counter' });
  const change = useCallback(
    (next: Partial<CounterSearch>) =>
      void navigate({ search: (before) => clean({ ...before, ...next }), replace: true }),
    [navigate],
  );
  const { entity, scope, all } = search;
  const kept = all ? { all } : {};
  const isOfScopes = search.list === 'scopes';
  // Filter and sorting belong to the previous list.
  const show = (list: Pick<CounterSearch, 'list'>) => void navigate({ search: { ...list, ...kept } });
  const showEveryones = <ShowEveryones all={all ?? false} onChange={(next) => change({ all: next })} />;
  if (entity === undefined && scope === undefined)
    return (
      <Page
        title={<span className="break-all">{counter.name}</span>}
        intro={<Trail counter={counter} all={all} />}
        actions={showEveryones}
      >
        <MeasureTotals measures={counter.measures} measured={counter.total} />
        <fieldset className="flex gap-1 border-b border-line">
          <legend className="sr-only">Group by</legend>
          <ListButton isShown={!isOfScopes} onShow={() => show({})}>
            By {counter.entity}
          </ListButton>
          <ListButton isShown={isOfScopes} onShow={() => show({ list: 'scopes' })}>
            By {counter.scope}
          </ListButton>
        </fieldset>
        <CounterRows
          counter={counter}
          search={search}
          of={{ list: isOfScopes ? 'scopes' : 'entities' }}
          onChange={change}
        />
      </Page>
    );
  const isEntity = entity !== undefined;
  return (
    <Page
      title={<span className="break-all whitespace-pre-wrap">{entity ?? scope}</span>}
      intro={<Trail counter={counter} all={all} of={isEntity ? 'entity' : 'scope'} />}
      actions={showEveryones}
    >
      <ValueOf counter={counter} search={search} />
      <h2 className="text-base font-semibold">By {isEntity ? counter.scope : counter.entity}</h2>
      <CounterRows
        counter={counter}
        search={search}
        of={isEntity ? { list: 'scopes', entity } : { list: 'entities', scope: scope! }}
        onChange={change}
      />
    </Page>
  );
}

/** Totals of one entity over all scopes, or of one scope over all entities. */
function ValueOf({ counter, search }: { counter: ShownCounter; search: CounterSearch }) {
  const { entity, scope, all } = search;
  const value = useQuery({
    queryKey: ['counter', counter.name, 'value', { entity, scope, all }],
    queryFn: ({ signal }) =>
      client.getCounterValue(
        {
          counter: counter.name,
          ...(entity === undefined ? { scope } : { entity }),
          ...(all && { all: 'true' as const }),
        },
        { signal },
      ),
    refetchInterval: all ? ALL_EVERY_MS : false,
  });
  if (value.isError && !value.data) return <FailureNote error={value.error} />;
  if (value.isPending) return <Loading />;
  return (
    <>
      <MeasureTotals measures={counter.measures} measured={value.data.measured} />
      <p className="text-[13px] text-muted">
        Updated <RelativeTime at={value.data.updatedAt} />
      </p>
    </>
  );
}

function Trail({
  counter,
  of,
  all,
}: {
  counter: ShownCounter;
  of?: 'entity' | 'scope' | undefined;
  all?: boolean | undefined;
}) {
  const kept = all ? { all } : {};
  return (
    <nav aria-label="Breadcrumb" className="flex flex-wrap gap-x-1.5">
      <Link to="/counters" search={kept} className="underline">
        Counters
      </Link>
      <span aria-hidden>/</span>
      {of === undefined ? (
        <span>
          {counter.entity} in {counter.scope}
        </span>
      ) : (
        <>
          <Link
            to="/counters/$counter"
            params={{ counter: counter.name }}
            search={of === 'scope' ? { list: 'scopes', ...kept } : kept}
            className="break-all underline"
          >
            {counter.name}
          </Link>
          <span aria-hidden>/</span>
          <span>{counter[of]}</span>
        </>
      )}
    </nav>
  );
}

function ListButton({
  isShown,
  onShow,
  children,
}: {
  isShown: boolean;
  onShow: () => void;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      aria-pressed={isShown}
      onClick={onShow}
      className={classNames(
        '-mb-px cursor-pointer border-b-2 px-3 py-2 hover:text-text focus-visible:outline-offset-[-2px]',
        isShown ? 'border-accent font-medium' : 'border-transparent text-muted',
      )}
    >
      {children}
    </button>
  );
}

function clean(search: CounterSearch): CounterSearch {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== '' && value !== false),
  ) as CounterSearch;
}
