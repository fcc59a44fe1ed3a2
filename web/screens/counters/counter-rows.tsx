// Entities or scopes of a counter with their values: filtered by prefix, sorted by name or by a measure.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowDown, ArrowUp } from 'lucide-react';
import { useCallback } from 'react';
import type { CounterRow, ShownCounter } from '../../../src/contract/counters.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { ShowMore } from '../../components/show-more.tsx';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { formatCount } from '../../lib/format.ts';
import type { CounterSearch } from '../../routes/router.tsx';
import { ALL_EVERY_MS } from './use-counters.ts';

export interface CounterRowsProps {
  counter: ShownCounter;
  search: CounterSearch;
  /** The list, and the entity or scope that it is limited to. */
  of: { list: 'entities'; scope?: string } | { list: 'scopes'; entity?: string };
  onChange: (next: Partial<CounterSearch>) => void;
}

export function CounterRows({ counter, search, of, onChange }: CounterRowsProps) {
  const { prefix, sortBy, order, all } = search;
  const { list, ...one } = of;
  const rows = useInfiniteQuery({
    queryKey: ['counter', counter.name, of, { prefix, sortBy, order, all }],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const given = {
        counter: counter.name,
        ...one,
        ...(prefix && { prefix }),
        ...(sortBy && { sortBy, order: order ?? ('desc' as const) }),
        ...(all && { all: 'true' as const }),
        ...(pageParam !== undefined && { after: pageParam }),
      };
      return list === 'entities'
        ? client.listCounterEntities(given, { signal })
        : client.listCounterScopes(given, { signal });
    },
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: all ? ALL_EVERY_MS : false,
  });
  const listed = rows.data?.pages.flatMap((page) => page.items) ?? [];
  const word = list === 'entities' ? counter.entity : counter.scope;
  const hasOwners = all === true || listed.some(({ ownerId }) => ownerId !== listed[0]!.ownerId);
  const onSearch = useCallback((text: string) => onChange({ prefix: text }), [onChange]);
  const sort = (measure: string | null) => {
    if (measure === null) onChange({ sortBy: undefined, order: undefined });
    else onChange({ sortBy: measure, order: sortBy === measure && order !== 'asc' ? 'asc' : undefined });
  };
  const headings = [
    <SortButton key="name" words={word} sorted={sortBy ? null : 'asc'} onSort={() => sort(null)} />,
    ...(hasOwners ? ['Owner'] : []),
    ...counter.measures.map((measure) => (
      <SortButton
        key={measure}
        words={measure}
        sorted={sortBy === measure ? (order ?? 'desc') : null}
        onSort={() => sort(measure)}
      />
    )),
    'Updated',
  ];
  const firstNumber = headings.length - 1 - counter.measures.length;
  const numbers = counter.measures.map((_, at) => firstNumber + at);
  return (
    <>
      <SearchBox label="Filter by prefix" value={prefix ?? ''} onChange={onSearch} />
      {rows.isError && <FailureNote error={rows.error} />}
      {rows.isPending && <Loading />}
      {rows.isSuccess &&
        (listed.length === 0 ? (
          <EmptyState title={prefix ? 'No matches' : 'No counts yet'}>
            {prefix ? 'Try a different prefix.' : 'Counts appear as soon as a pipeline reports them.'}
          </EmptyState>
        ) : (
          <Table label={`By ${word}`} headings={headings} numbers={numbers}>
            {listed.map((row) => (
              <NumberLine
                key={`${row.ownerId} ${row.name}`}
                row={row}
                counter={counter}
                search={{
                  ...(list === 'entities' ? { entity: row.name } : { scope: row.name }),
                  ...(all && { all }),
                }}
                hasOwners={hasOwners}
              />
            ))}
          </Table>
        ))}
      <ShowMore of={rows} />
    </>
  );
}

function SortButton({
  words,
  sorted,
  onSort,
}: {
  words: string;
  sorted: 'asc' | 'desc' | null;
  onSort: () => void;
}) {
  const Arrow = sorted === 'asc' ? ArrowUp : ArrowDown;
  return (
    <button
      type="button"
      onClick={onSort}
      className="inline-flex cursor-pointer items-center gap-1 hover:text-text"
      aria-label={`Sort by ${words}${sorted === null ? '' : sorted === 'asc' ? ', sorted ascending' : ', sorted descending'}`}
    >
      {words}
      {sorted !== null && <Arrow size={14} aria-hidden />}
    </button>
  );
}

function NumberLine({
  row,
  counter,
  search,
  hasOwners,
}: {
  row: CounterRow;
  counter: ShownCounter;
  search: CounterSearch;
  hasOwners: boolean;
}) {
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} min-w-40 font-normal`}>
        <Link
          to="/counters/$counter"
          params={{ counter: counter.name }}
          search={search}
          className="font-medium break-all whitespace-pre-wrap hover:underline"
        >
          {row.name}
        </Link>
      </th>
      {hasOwners && <td className={`${cellClass} break-all text-muted`}>{row.ownerId}</td>}
      {counter.measures.map((measure) => (
        <td key={measure} className={numberClass}>
          {formatCount(row.measured[measure] ?? 0)}
        </td>
      ))}
      <td className={`${cellClass} text-muted`}>
        <RelativeTime at={row.updatedAt} />
      </td>
    </tr>
  );
}
