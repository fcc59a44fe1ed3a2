// Two runs side by side: totals by kind of change, cost and duration, and the cells that differ.
import { useInfiniteQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { formatCost } from '../../../../src/core/limits/format-cost.ts';
import type { Answered } from '../../../../src/client/route-call.ts';
import type { Routes } from '../../../../src/contract/routes.ts';
import type { RowChange } from '../../../../src/core/jobs/run-comparison.ts';
import { Button } from '../../../components/button.tsx';
import { FailureNote } from '../../../components/failure-note.tsx';
import { Section } from '../../../components/section.tsx';
import { SelectField } from '../../../components/select-field.tsx';
import { ShowMore } from '../../../components/show-more.tsx';
import { Table } from '../../../components/table.tsx';
import { client } from '../../../lib/client.ts';
import { formatCount, formatDuration } from '../../../lib/format.ts';
import type { Job } from '../../../lib/job.ts';
import { useJobSearch } from '../use-job-search.ts';
import { ChangeTiles } from './change-tiles.tsx';
import { ComparedRow } from './compared-row.tsx';

type Totals = NonNullable<Answered<Routes['compareRuns']>['totals']>;

const PAGE = 50;

export interface CompareRunsProps {
  job: Job;
  from: number;
  to: number;
}

export function CompareRuns({ job, from, to }: CompareRunsProps) {
  const { jobId, generation, costUnit } = job;
  const [{ change }, setSearch] = useJobSearch();
  const compared = useInfiniteQuery({
    queryKey: ['job', jobId, 'compare', from, to, change],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor, signal }) =>
      client.compareRuns(
        {
          jobId,
          from,
          to,
          limit: PAGE,
          ...(change !== undefined && { change: [change] }),
          ...(cursor !== undefined && { cursor }),
        },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const close = () => setSearch({ runFrom: undefined, runTo: undefined, change: undefined });
  const totals = compared.data?.pages[0]?.totals;
  const rows = compared.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Section
      title={`Run ${from} and run ${to}`}
      aside={
        <Button kind="quiet" size="small" aria-label="Close comparison" onClick={close}>
          <X size={16} aria-hidden />
        </Button>
      }
    >
      <div className="flex flex-wrap gap-3">
        <RunChoice
          label="Earlier run"
          value={from}
          least={1}
          most={to - 1}
          onChange={(runFrom) => setSearch({ runFrom })}
        />
        <RunChoice
          label="Later run"
          value={to}
          least={from + 1}
          most={generation}
          onChange={(runTo) => setSearch({ runTo })}
        />
      </div>
      {compared.isError && <FailureNote error={compared.error} />}
      {!compared.data && !compared.isError && <p className="text-muted">Loading…</p>}
      {totals && (
        <>
          <ChangeTiles counts={totals.rows as Record<RowChange, number>} from={from} to={to} shown={change} />
          <TotalsLine totals={totals} costUnit={costUnit} />
        </>
      )}
      {rows.length > 0 && (
        <Table
          label="Compared rows"
          numbers={[5, 6]}
          headings={['Row', 'Change', 'Cell', `Run ${from}`, `Run ${to}`, 'Cost', 'Duration']}
        >
          {rows.map((row) => (
            <ComparedRow key={row.seq} row={row} costUnit={costUnit} />
          ))}
        </Table>
      )}
      {compared.data && rows.length === 0 && (
        <p className="text-muted">{compared.hasNextPage ? 'No matching rows so far' : 'No matching rows'}</p>
      )}
      <ShowMore of={compared} />
    </Section>
  );
}

interface RunChoiceProps {
  label: string;
  value: number;
  least: number;
  most: number;
  onChange: (run: number) => void;
}

/** Runs in a list; older ones are reached by the URL. */
const MAX_CHOICES = 100;

function RunChoice({ label, value, least, most, onChange }: RunChoiceProps) {
  const first = Math.max(least, most - MAX_CHOICES + 1);
  const runs = Array.from({ length: most - first + 1 }, (_, at) => first + at);
  const known = runs.includes(value) ? runs : [value, ...runs];
  return (
    <SelectField
      label={label}
      value={String(value)}
      choices={known.map((run) => [String(run), `Run ${run}`] as const)}
      onChange={({ target }) => onChange(Number(target.value))}
    />
  );
}

function TotalsLine({ totals, costUnit }: { totals: Totals; costUnit: string | null }) {
  const { costBefore, costAfter, handlerMsBefore, handlerMsAfter, isComplete, upToSeq } = totals;
  return (
    <p className="flex flex-wrap gap-x-4 text-[13px] text-muted tabular-nums">
      {(costBefore > 0 || costAfter > 0) && (
        <span>
          Cost of these rows {formatCost(costBefore, costUnit)}, then {formatCost(costAfter, costUnit)}
        </span>
      )}
      {handlerMsBefore !== null && handlerMsAfter !== null && (
        <span>
          Average call {formatDuration(handlerMsBefore)}, then {formatDuration(handlerMsAfter)}
        </span>
      )}
      {!isComplete && <span>Totals of the first {formatCount(upToSeq)} rows of the job</span>}
    </p>
  );
}
