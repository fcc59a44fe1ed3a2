// The expected cost of active jobs: rows left, at the average cost of a row so far.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { Table, cellClass, numberClass, rowClass } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { formatCount } from '../../lib/format.ts';
import { ACTIVE_STATES, costPerRow } from '../../lib/job.ts';

const JOBS_MAX = 200;
const REFRESH_MS = 10_000;

export function Forecast({ all }: { all: boolean | undefined }) {
  const jobs = useQuery({
    queryKey: ['jobs', 'forecast', all],
    queryFn: ({ signal }) =>
      client.listJobs(
        { states: ACTIVE_STATES, limit: JOBS_MAX, ...(all && { all: 'true' as const }) },
        { signal },
      ),
    refetchInterval: REFRESH_MS,
  });
  const paid = (jobs.data?.items ?? []).flatMap((job) => {
    const each = costPerRow(job);
    const left = job.counts.PENDING + job.counts.PROCESSING;
    return each === null ? [] : [{ ...job, each, left, more: each * left }];
  });
  if (paid.length === 0) return null;
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">Forecast for active jobs</h2>
      <Table
        label="Forecast for active jobs"
        headings={['Job', 'Rows left', 'Per row so far', 'Cost so far', 'Still to come']}
        numbers={[1, 2, 3, 4]}
      >
        {paid.map(({ jobId, name, left, each, cost, more, costUnit }) => (
          <tr key={jobId} className={rowClass}>
            <th scope="row" className={`${cellClass} max-w-72 truncate text-left font-normal`}>
              <Link to="/jobs/$jobId" params={{ jobId }} className="font-medium hover:underline">
                {name || jobId.slice(0, 8)}
              </Link>
            </th>
            <td className={numberClass}>{formatCount(left)}</td>
            <td className={numberClass}>{formatCost(each, costUnit)}</td>
            <td className={numberClass}>{formatCost(cost, costUnit)}</td>
            <td className={numberClass}>≈ {formatCost(more, costUnit)}</td>
          </tr>
        ))}
      </Table>
      {jobs.data?.next && (
        <p className="text-[13px] text-muted">The newest {JOBS_MAX} active jobs are shown.</p>
      )}
    </section>
  );
}
