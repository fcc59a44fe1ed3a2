// Pipelines with their versions, and their jobs, rows, success and cost per row in the last 30 days.
import { Link, useNavigate } from '@tanstack/react-router';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { CheckField } from '../../components/check-field.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Page } from '../../components/page.tsx';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';
import { formatCount, formatPercent } from '../../lib/format.ts';
import { usePermission } from '../../lib/permission.ts';
import { pipelinesRoute } from '../../routes/router.tsx';
import { type KnownPipeline, successOf, sumOf, usePipelines } from './use-pipelines.ts';

export function PipelinesScreen() {
  const { all } = pipelinesRoute.useSearch();
  const navigate = useNavigate({ from: '/pipelines' });
  const { seesAll } = usePermission();
  const { pipelines, isPending, error } = usePipelines(all);
  return (
    <Page
      title="Pipelines"
      intro="Numbers are of the last 30 days"
      actions={
        seesAll && (
          <CheckField
            label="Count everyone's jobs"
            checked={all ?? false}
            onChange={({ target }) =>
              void navigate({ search: target.checked ? { all: true } : {}, replace: true })
            }
          />
        )
      }
    >
      {error && <FailureNote error={error} />}
      {isPending && <p className="text-muted">Loading…</p>}
      {!isPending && pipelines.length === 0 && (
        <EmptyState title="No pipelines yet">
          <p>Start the server with the modules of your pipelines:</p>
          <pre className="mt-3 rounded-md bg-sunken p-3 text-left font-mono text-xs break-words whitespace-pre-wrap">
            rowmill server pipelines/price-lookup.ts
          </pre>
        </EmptyState>
      )}
      {pipelines.length > 0 && (
        <Table
          label="Pipelines"
          headings={['Pipeline', 'Versions', 'Jobs', 'Rows', 'Failed', 'Success', 'Cost', 'Per row']}
          numbers={[2, 3, 4, 5, 6, 7]}
        >
          {pipelines.map((pipeline) => (
            <PipelineRow key={pipeline.name} pipeline={pipeline} all={all} />
          ))}
        </Table>
      )}
    </Page>
  );
}

function PipelineRow({ pipeline, all }: { pipeline: KnownPipeline; all: boolean | undefined }) {
  const { name, definitions, usage } = pipeline;
  const success = successOf(usage);
  const paid = usage.filter(({ cost }) => cost > 0);
  const versions = definitions.flatMap(({ version }) => (version === null ? [] : [version]));
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} text-left font-normal`}>
        <Link
          to="/pipelines/$name"
          params={{ name }}
          search={all ? { all } : {}}
          className="font-medium hover:underline"
        >
          {name}
        </Link>
        {definitions.length === 0 && <span className="block text-[13px] text-muted">not on this server</span>}
      </th>
      <td className={cellClass}>{versions.join(', ') || '—'}</td>
      <td className={numberClass}>{formatCount(sumOf(usage, 'jobs'))}</td>
      <td className={numberClass}>{formatCount(sumOf(usage, 'rows'))}</td>
      <td className={numberClass}>{formatCount(sumOf(usage, 'failed'))}</td>
      <td className={numberClass}>{success === null ? '—' : formatPercent(success)}</td>
      <td className={numberClass}>
        {paid.map(({ cost, costUnit }) => formatCost(cost, costUnit)).join(', ') || '—'}
      </td>
      <td className={numberClass}>
        {paid.map(({ cost, rows, costUnit }) => formatCost(cost / Math.max(1, rows), costUnit)).join(', ') ||
          '—'}
      </td>
    </tr>
  );
}
