// One pipeline: the columns of its rows, its phases and their limits, how to try a row, and its jobs.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Copy, Plus } from 'lucide-react';
import type { ReactNode } from 'react';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { Button, buttonClass } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Page } from '../../components/page.tsx';
import { Section } from '../../components/section.tsx';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { client } from '../../lib/client.ts';
import { copyText } from '../../lib/copy-text.ts';
import { formatCount, formatDuration, formatPercent } from '../../lib/format.ts';
import { usePermission } from '../../lib/permission.ts';
import { pipelineRoute } from '../../routes/router.tsx';
import { JobTable } from '../jobs/job-table.tsx';
import { fieldsOfSchema, KIND_WORDS } from '../new-job/schema-form.ts';
import { exampleRow } from './example-row.ts';
import { type Definition, successOf, sumOf, usePipelines } from './use-pipelines.ts';

const JOBS_SHOWN = 10;

export function PipelineScreen() {
  const { name } = pipelineRoute.useParams();
  const { all } = pipelineRoute.useSearch();
  const { can } = usePermission();
  const { pipelines, isPending, error } = usePipelines(all, name);
  const [pipeline] = pipelines;
  const usage = pipeline?.usage ?? [];
  const success = successOf(usage);
  const canStart = can('createJob') && (pipeline?.definitions.length ?? 0) > 0;
  return (
    <Page
      title={name}
      intro={
        <Link to="/pipelines" search={all ? { all } : {}} className="text-accent hover:underline">
          All pipelines
        </Link>
      }
      actions={
        canStart && (
          <Link to="/jobs/new" search={{ pipeline: name }} className={buttonClass('primary', 'normal')}>
            <Plus size={16} aria-hidden /> Start a job
          </Link>
        )
      }
    >
      {error && <FailureNote error={error} />}
      {isPending && <p className="text-muted">Loading…</p>}
      {!isPending && (
        <>
          <Section title="Last 30 days">
            <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
              <Fact name="Jobs">{formatCount(sumOf(usage, 'jobs'))}</Fact>
              <Fact name="Rows processed">{formatCount(sumOf(usage, 'rows'))}</Fact>
              <Fact name="Success">{success === null ? '—' : formatPercent(success)}</Fact>
              <Fact name="Cost per row">
                {usage
                  .filter(({ cost, rows }) => cost > 0 && rows > 0)
                  .map(({ cost, rows, costUnit }) => formatCost(cost / rows, costUnit))
                  .join(', ') || '—'}
              </Fact>
            </dl>
          </Section>
          {pipeline?.definitions.map((definition) => (
            <DefinitionParts key={definition.version} definition={definition} />
          ))}
          {(pipeline?.definitions.length ?? 0) === 0 && (
            <p className="text-muted">
              This server does not have the pipeline, so its columns and phases are unknown here.
            </p>
          )}
          <Jobs name={name} all={all} />
        </>
      )}
    </Page>
  );
}

function DefinitionParts({ definition }: { definition: Definition }) {
  const { version, phases, input, costUnit, key } = definition;
  const fields = fieldsOfSchema(input);
  const of = version === null ? '' : ` of version ${version}`;
  return (
    <>
      <section className="flex flex-col gap-2">
        <h2 className="font-semibold">Columns{of}</h2>
        {fields.length === 0 ? (
          <p className="text-muted">Any columns are accepted.</p>
        ) : (
          <Table label={`Columns${of}`} headings={['Column', 'Type', 'Required', 'Description']}>
            {fields.map((field) => (
              <tr key={field.name} className={rowClass}>
                <th scope="row" className={`${cellClass} text-left font-mono text-[13px] font-normal`}>
                  {field.name}
                </th>
                <td className={cellClass}>
                  {field.choices.length > 0
                    ? field.choices.map(String).join(', ')
                    : KIND_WORDS[field.kind] || 'any value'}
                </td>
                <td className={cellClass}>
                  {field.required ? 'Yes' : 'No'}
                  {key.includes(field.name) && ', key'}
                </td>
                <td className={cellClass}>{field.description}</td>
              </tr>
            ))}
          </Table>
        )}
      </section>
      <section className="flex flex-col gap-2">
        <h2 className="font-semibold">Phases{of}</h2>
        <Table
          label={`Phases${of}`}
          headings={['Phase', 'Slots per worker', 'Time limit', 'Priority', 'Resources']}
          numbers={[1, 2, 3]}
        >
          {phases.map((phase) => (
            <tr key={phase.name} className={rowClass}>
              <th scope="row" className={`${cellClass} text-left font-normal`}>
                {phase.name}
              </th>
              <td className={numberClass}>
                {phase.concurrency === null ? 'default' : formatCount(phase.concurrency)}
              </td>
              <td className={numberClass}>
                {phase.timeoutMs === null ? 'default' : formatDuration(phase.timeoutMs)}
              </td>
              <td className={numberClass}>{phase.priority}</td>
              <td className={cellClass}>
                {phase.resources.length === 0
                  ? '—'
                  : phase.resources.map((resource) => (
                      <Link
                        key={resource}
                        to="/resources"
                        search={{ name: resource }}
                        className="mr-2 text-accent hover:underline"
                      >
                        {resource}
                      </Link>
                    ))}
              </td>
            </tr>
          ))}
        </Table>
        {costUnit !== null && <p className="text-[13px] text-muted">Costs are in {costUnit}.</p>}
      </section>
      <TryCommand definition={definition} />
    </>
  );
}

/** Handlers run in workers, never in the server. */
function TryCommand({ definition }: { definition: Definition }) {
  const row = JSON.stringify(exampleRow(definition.input)).replaceAll("'", String.raw`'\''`);
  const command = `rowmill try pipeline.ts '${row}'`;
  return (
    <Section
      title="Try a row"
      aside={
        <Button size="small" onClick={() => void copyText(command).then(() => say('Copied'), sayError)}>
          <Copy size={14} aria-hidden /> Copy
        </Button>
      }
    >
      <p className="text-muted">
        Run this where the code of the pipeline is. It calls the handlers on one row and stores nothing.
      </p>
      <pre className="rounded-md bg-sunken p-3 font-mono text-xs break-words whitespace-pre-wrap">
        {command}
      </pre>
    </Section>
  );
}

function Jobs({ name, all }: { name: string; all: boolean | undefined }) {
  const jobs = useQuery({
    queryKey: ['jobs', 'pipeline', name, all],
    queryFn: ({ signal }) =>
      client.listJobs(
        { pipeline: name, limit: JOBS_SHOWN, ...(all && { all: 'true' as const }) },
        { signal },
      ),
  });
  return (
    <section className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-x-3">
        <h2 className="font-semibold">Jobs</h2>
        <Link
          to="/jobs"
          search={{ pipeline: name, ...(all && { all }) }}
          className="text-[13px] text-accent hover:underline"
        >
          All jobs of this pipeline
        </Link>
      </div>
      {jobs.isError && <FailureNote error={jobs.error} />}
      {jobs.data?.items.length === 0 && <EmptyState title="No jobs yet">Start one above.</EmptyState>}
      {jobs.data && jobs.data.items.length > 0 && (
        <JobTable jobs={jobs.data.items} selected={null} onSelect={() => {}} />
      )}
    </section>
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
