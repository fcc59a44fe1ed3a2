// Cost by day, owner and pipeline for a range of days, with a forecast for running jobs and the budgets of owners.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import type { Usage } from '../../../src/contract/overview.ts';
import { USAGE_DAYS_MAX } from '../../../src/contract/usage-range.ts';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { addDays, dayAt } from '../../lib/day.ts';
import { formatCount } from '../../lib/format.ts';
import { usePermission } from '../../lib/permission.ts';
import { costRoute } from '../../routes/router.tsx';
import { Budgets } from './budgets.tsx';
import { Forecast } from './forecast.tsx';
import { sumUsage, type UsageSum, usageCsv } from './usage-sums.ts';

const RANGES = [7, 30, 90] as const;
const REFRESH_MS = 30_000;

export function CostScreen() {
  const search = costRoute.useSearch();
  const navigate = useNavigate({ from: '/cost' });
  const { seesAll } = usePermission();
  const { all } = search;
  const today = dayAt(Date.now());
  const to = isDay(search.to) ? search.to : today;
  const from = isDay(search.from) ? search.from : addDays(to, -29);
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;
  const problem =
    days < 1
      ? 'Choose a last day that is not before the first'
      : days > USAGE_DAYS_MAX
        ? `Choose at most ${USAGE_DAYS_MAX} days`
        : undefined;
  const usage = useQuery({
    queryKey: ['usage', from, to, all],
    queryFn: ({ signal }) =>
      client.getUsage(
        { from, to, by: ['day', 'owner', 'pipeline'], ...(all && { all: 'true' as const }) },
        { signal },
      ),
    enabled: problem === undefined,
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });
  const choose = (range: { from: string; to: string }) =>
    void navigate({ search: { ...range, ...(all && { all }) }, replace: true });
  const items = usage.data?.items ?? [];
  return (
    <Page
      title="Cost"
      intro="Reported by pipelines. Days are in UTC; deleted jobs are not included."
      actions={
        <Button disabled={items.length === 0} onClick={() => saveCsv(items, `cost-${from}-${to}.csv`)}>
          <Download size={16} aria-hidden /> Download CSV
        </Button>
      }
    >
      <div className="flex flex-wrap items-end gap-2">
        <TextField
          label="From"
          type="date"
          className="w-40"
          value={from}
          max={to}
          onChange={({ target }) => isDay(target.value) && choose({ from: target.value, to })}
        />
        <TextField
          label="To"
          type="date"
          className="w-40"
          value={to}
          onChange={({ target }) => isDay(target.value) && choose({ from, to: target.value })}
        />
        {RANGES.map((range) => (
          <Button key={range} onClick={() => choose({ from: addDays(today, 1 - range), to: today })}>
            {range} days
          </Button>
        ))}
        {seesAll && (
          <CheckField
            className="px-1 pb-2"
            label="Show everyone's"
            checked={all ?? false}
            onChange={({ target }) =>
              void navigate({ search: { from, to, ...(target.checked && { all: true }) }, replace: true })
            }
          />
        )}
      </div>
      {problem !== undefined && (
        <p role="alert" className="text-bad">
          {problem}.
        </p>
      )}
      {usage.isError && <FailureNote error={usage.error} />}
      {usage.isLoading && <p className="text-muted">Loading…</p>}
      {usage.data && (
        <>
          {!usage.data.isComplete && (
            <p className="text-warn">The first 10,000 entries are shown. Choose fewer days.</p>
          )}
          <Totals items={items} />
          <Forecast all={all} />
          <Budgets budgets={usage.data.budgets} />
          {items.length === 0 ? (
            <EmptyState title="No rows were processed in these days">Choose other days.</EmptyState>
          ) : (
            <>
              <ByPipeline items={items} />
              <ByDay items={items} />
            </>
          )}
        </>
      )}
    </Page>
  );
}

function isDay(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

function Totals({ items }: { items: readonly Usage[] }) {
  const sums = sumUsage(items, () => '');
  const rows = sums.reduce((sum, each) => sum + each.rows, 0);
  const failed = sums.reduce((sum, each) => sum + each.failed, 0);
  const paid = sums.filter(({ cost }) => cost > 0);
  return (
    <dl className="grid grid-cols-2 gap-3 rounded-lg border border-line bg-surface p-4 sm:grid-cols-4">
      <div>
        <dt className="text-[13px] text-muted">Cost</dt>
        {paid.length === 0 && <dd className="m-0 text-lg font-semibold">—</dd>}
        {paid.map(({ key, first, cost }) => (
          <dd key={key} className="m-0 text-lg font-semibold tabular-nums">
            {formatCost(cost, first.costUnit)}
          </dd>
        ))}
      </div>
      <div>
        <dt className="text-[13px] text-muted">Rows processed</dt>
        <dd className="m-0 text-lg font-semibold tabular-nums">{formatCount(rows)}</dd>
      </div>
      <div>
        <dt className="text-[13px] text-muted">Failed rows</dt>
        <dd className="m-0 text-lg font-semibold tabular-nums">{formatCount(failed)}</dd>
      </div>
    </dl>
  );
}

function ByPipeline({ items }: { items: readonly Usage[] }) {
  const sums = sumUsage(items, ({ ownerId, pipeline }) => JSON.stringify([ownerId, pipeline])).toSorted(
    (a, b) => b.cost - a.cost || b.rows - a.rows,
  );
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">By owner and pipeline</h2>
      <Table
        label="Cost by owner and pipeline"
        headings={['Owner', 'Pipeline', 'Rows', 'Failed', 'Cost', 'Per row']}
        numbers={[2, 3, 4, 5]}
      >
        {sums.map((sum) => (
          <tr key={sum.key} className={rowClass}>
            <td className={cellClass}>{sum.first.ownerId}</td>
            <th scope="row" className={`${cellClass} text-left font-normal`}>
              <Link
                to="/pipelines/$name"
                params={{ name: sum.first.pipeline! }}
                className="font-medium hover:underline"
              >
                {sum.first.pipeline}
              </Link>
            </th>
            <Numbers sum={sum} />
          </tr>
        ))}
      </Table>
    </section>
  );
}

function ByDay({ items }: { items: readonly Usage[] }) {
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">By day</h2>
      <Table
        label="Cost by day"
        headings={['Day', 'Rows', 'Failed', 'Cost', 'Per row']}
        numbers={[1, 2, 3, 4]}
      >
        {sumUsage(items, ({ day }) => day!)
          .toReversed()
          .map((sum) => (
            <tr key={sum.key} className={rowClass}>
              <th scope="row" className={`${cellClass} text-left font-normal tabular-nums`}>
                {sum.first.day}
              </th>
              <Numbers sum={sum} />
            </tr>
          ))}
      </Table>
    </section>
  );
}

function Numbers({ sum: { rows, failed, cost, lostCost, first } }: { sum: UsageSum }) {
  return (
    <>
      <td className={numberClass}>{formatCount(rows)}</td>
      <td className={numberClass}>{formatCount(failed)}</td>
      <td className={numberClass}>
        {cost > 0 ? formatCost(cost, first.costUnit) : '—'}
        {lostCost > 0 && (
          <span className="block text-[13px] text-muted">+ {formatCost(lostCost, first.costUnit)} lost</span>
        )}
      </td>
      <td className={numberClass}>{cost > 0 && rows > 0 ? formatCost(cost / rows, first.costUnit) : '—'}</td>
    </>
  );
}

function saveCsv(items: readonly Usage[], name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([usageCsv(items)], { type: 'text/csv' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
