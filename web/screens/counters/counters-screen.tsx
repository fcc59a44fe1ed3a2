// All counters with their totals, live.
import { Link, useNavigate } from '@tanstack/react-router';
import type { ShownCounter } from '../../../src/contract/counters.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';
import { formatCount } from '../../lib/format.ts';
import { countersRoute } from '../../routes/router.tsx';
import { ShowEveryones } from './show-everyones.tsx';
import { useCounters } from './use-counters.ts';

const HOW = `const annotations = defineCounter({
  name: 'annotations',
  scope: 'project',
  entity: 'document',
  measures: ['denotations', 'relations'],
});
// in definePipeline: counters: [annotations]
// in run: context.count(annotations,
//   { scope: row.project, entity: row.document },
//   { denotations: found.length })`;

export function CountersScreen() {
  const { all = false } = countersRoute.useSearch();
  const navigate = useNavigate({ from: '/counters' });
  const counters = useCounters(all);
  return (
    <Page
      title="Counters"
      intro="Live totals reported by your pipelines"
      actions={
        <ShowEveryones
          all={all}
          onChange={(next) => void navigate({ search: next ? { all: true } : {}, replace: true })}
        />
      }
    >
      {counters.isError && <FailureNote error={counters.error} />}
      {counters.isPending && <Loading />}
      {counters.isSuccess &&
        (counters.data.items.length === 0 ? (
          <EmptyState title="No counters yet">
            <p>
              A counter adds up numbers that handlers report: per document and project, per document, and per
              project. Define one beside a pipeline and count in its handlers; it appears here as soon as a
              worker runs the pipeline.
            </p>
            <section
              aria-label="Learn about counters"
              tabIndex={0}
              className="mt-4 overflow-x-auto rounded-md border border-line bg-surface p-3 text-left text-[13px] text-text"
            >
              <pre>{HOW}</pre>
            </section>
          </EmptyState>
        ) : (
          <Table label="Counters" headings={['Counter', 'Counted per', 'Total', 'Updated']} numbers={[2]}>
            {counters.data.items.map((counter) => (
              <CounterLine key={counter.name} counter={counter} all={all} />
            ))}
          </Table>
        ))}
    </Page>
  );
}

function CounterLine({ counter, all }: { counter: ShownCounter; all: boolean }) {
  const { name, scope, entity, measures, total, updatedAt } = counter;
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} font-normal`}>
        <Link
          to="/counters/$counter"
          params={{ counter: name }}
          search={all ? { all: true } : {}}
          className="font-medium break-all hover:underline"
        >
          {name}
        </Link>
      </th>
      <td className={`${cellClass} text-muted`}>
        {entity} in {scope}
      </td>
      <td className={numberClass}>
        <ul className="flex flex-wrap justify-end gap-x-4">
          {measures.map((measure) => (
            <li key={measure}>
              {`${formatCount(total[measure] ?? 0)} `}
              <span className="text-muted">{measure}</span>
            </li>
          ))}
        </ul>
      </td>
      <td className={`${cellClass} text-muted`}>
        {updatedAt === null ? 'never' : <RelativeTime at={updatedAt} />}
      </td>
    </tr>
  );
}
