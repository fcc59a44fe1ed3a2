// Services with limits: what was declared, what is used now, what stopped it; administrators change it here.
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Page } from '../../components/page.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { formatCount, formatDuration, formatPercent, formatRate } from '../../lib/format.ts';
import { usePermission } from '../../lib/permission.ts';
import { resourcesRoute } from '../../routes/router.tsx';
import { HistoryPanel } from './history-panel.tsx';
import { OverrideDialog, type Resource } from './override-dialog.tsx';

const REFRESH_MS = 5000;
const LISTED_MAX = 1000;

export function ResourcesScreen() {
  const { name } = resourcesRoute.useSearch();
  const navigate = useNavigate({ from: '/resources' });
  const { can } = usePermission();
  const [changed, setChanged] = useState<Resource | null>(null);
  const [shown, setShown] = useState<Resource | null>(null);
  const resources = useQuery({
    queryKey: ['resources'],
    queryFn: ({ signal }) => client.listResources({ limit: LISTED_MAX }, { signal }),
    refetchInterval: REFRESH_MS,
  });
  const wanted = (name ?? '').toLowerCase();
  const listed = (resources.data?.items ?? []).filter((resource) =>
    `${resource.name} ${resource.key}`.toLowerCase().includes(wanted),
  );
  const search = useCallback(
    (text: string) => void navigate({ search: text === '' ? {} : { name: text }, replace: true }),
    [navigate],
  );
  return (
    <Page
      title="Resources"
      intro="Services that pipelines call, and how much of them is used. Limits hold over all workers."
    >
      <SearchBox label="Search by name or key" value={name ?? ''} onChange={search} />
      {resources.isError && <FailureNote error={resources.error} />}
      {resources.isPending && <p className="text-muted">Loading…</p>}
      {resources.isSuccess &&
        (listed.length === 0 ? (
          <EmptyState title={name ? 'No resource fits' : 'No resource yet'}>
            {name
              ? 'Change the search above.'
              : 'A pipeline declares the services it calls with their limits; they appear here when a worker uses them.'}
          </EmptyState>
        ) : (
          <Table
            label="Resources"
            headings={['Resource', 'State', 'In use', 'Concurrency now', 'Rate now', 'Limits', '']}
            numbers={[2, 3, 4]}
          >
            {listed.map((resource) => (
              <ResourceRow
                key={`${resource.name} ${resource.key}`}
                resource={resource}
                onChange={can('changeResource') ? () => setChanged(resource) : null}
                onHistory={() => setShown(resource)}
              />
            ))}
          </Table>
        ))}
      {shown && <HistoryPanel name={shown.name} resourceKey={shown.key} onClose={() => setShown(null)} />}
      {changed && <OverrideDialog resource={changed} onClose={() => setChanged(null)} />}
    </Page>
  );
}

const STATES: Record<Resource['state'], readonly [words: string, tone: string, meaning: string]> = {
  closed: ['Working', 'bg-good-soft text-good', 'Calls may start'],
  open: ['Stopped', 'bg-bad-soft text-bad', 'It failed too often; calls wait'],
  probing: ['Trying', 'bg-warn-soft text-warn', 'A few calls find out whether it works again'],
  paused: ['Paused', 'bg-warn-soft text-warn', 'No call starts'],
  unused: ['Unused', 'bg-quiet-soft text-quiet', 'No worker has used it'],
};

interface ResourceRowProps {
  resource: Resource;
  onChange: (() => void) | null;
  onHistory: () => void;
}

function ResourceRow({ resource, onChange, onHistory }: ResourceRowProps) {
  const [words, tone, meaning] = STATES[resource.state];
  const { stopped, share } = resource;
  const isChanged = Object.keys(resource.override).length > 0;
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} font-normal`}>
        <span className="font-medium">{resource.name}</span>
        {resource.key !== '' && <span className="block text-[13px] text-muted">{resource.key}</span>}
      </th>
      <td className={cellClass}>
        <span
          title={meaning}
          className={`inline-flex rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${tone}`}
        >
          {words}
        </span>
        {stopped && (
          <p className="text-[13px] text-muted">
            {stopped.reason}
            {stopped.forMs !== null && stopped.forMs > 0 && `, for ${formatDuration(stopped.forMs)}`}
          </p>
        )}
      </td>
      <td className={numberClass}>
        {formatCount(resource.inUse)}
        {resource.wanted > 0 && (
          <span className="block text-[13px] text-muted">{formatCount(resource.wanted)} wanted</span>
        )}
      </td>
      <td className={numberClass}>
        {resource.concurrencyNow === null ? 'any' : formatCount(resource.concurrencyNow)}
        {share < 1 && (
          <span className="block text-[13px] text-warn" title="It follows what the service answers">
            {formatPercent(share)} of its limit
          </span>
        )}
      </td>
      <td className={numberClass}>{resource.rateNow === null ? 'any' : formatRate(resource.rateNow)}</td>
      <td className={`${cellClass} text-[13px]`}>
        <p className={isChanged ? 'text-muted line-through' : ''}>{limitWords(resource.limits)}</p>
        {isChanged && <p>{limitWords(resource.override)} (set by hand)</p>}
      </td>
      <td className={`${cellClass} text-right`}>
        <span className="inline-flex gap-2">
          <Button size="small" onClick={onHistory}>
            History<span className="sr-only"> of {`${resource.name} ${resource.key}`.trim()}</span>
          </Button>
          {onChange && (
            <Button size="small" onClick={onChange}>
              Change<span className="sr-only"> {resource.name}</span>
            </Button>
          )}
        </span>
      </td>
    </tr>
  );
}

function limitWords(limits: Readonly<Record<string, unknown>> | null): string {
  if (limits === null) return 'none declared';
  const { ratePerSecond, concurrency, minDelayMs, adaptive, paused } = limits;
  const words = [
    paused === true && 'paused',
    typeof ratePerSecond === 'number' && formatRate(ratePerSecond),
    typeof concurrency === 'number' && `${formatCount(concurrency)} at once`,
    typeof minDelayMs === 'number' && minDelayMs > 0 && `${formatDuration(minDelayMs)} between calls`,
    adaptive === true && 'adaptive',
    adaptive === false && 'fixed',
  ].filter((each) => typeof each === 'string');
  return words.join(', ') || 'no limit';
}
