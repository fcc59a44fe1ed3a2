// Details of an error group: example rows with their message, and the stack of the newest one.
import { useQuery } from '@tanstack/react-query';
import { FailureNote } from '../../../components/failure-note.tsx';
import { client } from '../../../lib/client.ts';
import { formatCount } from '../../../lib/format.ts';
import type { ErrorGroup, Item, Job } from '../../../lib/job.ts';
import { RowNumber } from '../row-number.tsx';
import { Stack } from '../story/attempt-entry.tsx';

const EXAMPLES = 5;

export function ErrorExamples({ job, group }: { job: Job; group: ErrorGroup }) {
  const { jobId } = job;
  const { signature: errorGroup, phase, rows, occurrences, sample, sampleSeq } = group;
  const examples = useQuery({
    queryKey: ['job', jobId, 'errors', 'examples', errorGroup, phase],
    queryFn: ({ signal }) => client.listItems({ jobId, errorGroup, phase, limit: EXAMPLES }, { signal }),
  });
  const seq = examples.data?.items[0]?.seq ?? sampleSeq;
  const trace = useQuery({
    enabled: examples.data !== undefined,
    queryKey: ['job', jobId, 'item', seq, 'trace'],
    queryFn: ({ signal }) => client.getItemTrace({ jobId, seq }, { signal }),
  });
  if (examples.isError) return <FailureNote error={examples.error} />;
  if (!examples.data) return <p className="text-muted">Loading…</p>;
  const thrower = trace.data?.attempts.findLast((attempt) => attempt.phase === phase && attempt.thrown);
  const { items } = examples.data;
  return (
    <div className="flex flex-col gap-2 text-[13px]">
      <p className="text-muted">
        {formatCount(occurrences)} failed {occurrences === 1 ? 'attempt' : 'attempts'}, also those that were
        retried. {rows > items.length && items.length > 0 && `The first ${items.length} rows:`}
      </p>
      {items.length === 0 ? (
        <p className="break-words">
          e.g. <RowNumber seq={sampleSeq} />: {sample}
        </p>
      ) : (
        <ul aria-label="Examples" className="flex flex-col gap-1">
          {items.map((item) => (
            <Example key={item.seq} item={item} />
          ))}
        </ul>
      )}
      {thrower && <Stack attempt={thrower} />}
    </div>
  );
}

function Example({ item: { seq, error, input } }: { item: Item }) {
  const values = input !== null && typeof input === 'object' ? Object.values(input) : [input];
  const text = values
    .filter((value) => value !== null && value !== '')
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join(' · ');
  return (
    <li className="flex min-w-0 flex-wrap gap-x-3">
      <RowNumber seq={seq} />
      <span className="min-w-0 flex-1 basis-60 break-words">{error}</span>
      <span className="max-w-96 truncate text-muted" title={text}>
        {text}
      </span>
    </li>
  );
}
