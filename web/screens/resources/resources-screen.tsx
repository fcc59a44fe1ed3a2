// External services with their limits and current use; administrators can edit the limits.
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceStateChip } from '../../components/resource-state-chip.tsx';
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
    <Page title="Resources" intro="External services used by pipelines. Limits apply across all workers.">
      <SearchBox label="Search by name or key" value={name ?? ''} onChange={search} />
      {resources.isError && <FailureNote error={resources.error} />}
      {resources.isPending && <Loading />}
      {resources.isSuccess &&
        (listed.length === 0 ? (
          <EmptyState title={name ? 'No matching resources' : 'No resources yet'}>
            {name
              ? 'Try a different search.'
              : 'Pipelines declare the services they call and their limits. They appear here when a worker uses them.'}
          </EmptyState>
        ) : (
          <Table
            label="Resources"
            headings={['Resource', 'State', 'In use', 'Current concurrency', 'Current rate', 'Limits', '']}
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

interface ResourceRowProps {
  resource: Resource;
  onChange: (() => void) | null;
  onHistory: () => void;
}

function ResourceRow({ resource, onChange, onHistory }: ResourceRowProps) {
  const { stopped, share } = resource;
  const isChanged = Object.keys(resource.override).length > 0;
  return (
    <tr className={rowClass}>
      <th scope="row" className={`${cellClass} font-normal`}>
        <span className="font-medium">{resource.name}</span>
        {resource.key !== '' && <span className="block text-[13px] text-muted">{resource.key}</span>}
      </th>
      <td className={cellClass}>
        <ResourceStateChip state={resource.state} />
        {stopped && (
          <p className="text-[13px] text-muted">
            {stopped.reason}
            {stopped.forMs !== null && stopped.forMs > 0 && ` (${formatDuration(stopped.forMs)} left)`}
          </p>
        )}
      </td>
      <td className={numberClass}>
        {formatCount(resource.inUse)}
        {resource.wanted > 0 && (
          <span className="block text-[13px] text-muted">{formatCount(resource.wanted)} requested</span>
        )}
      </td>
      <td className={numberClass}>
        {resource.concurrencyNow === null ? 'No limit' : formatCount(resource.concurrencyNow)}
        {share < 1 && (
          <span className="block text-[13px] text-warn" title="Adapts to how the service responds">
            {formatPercent(share)} of its limit
          </span>
        )}
      </td>
      <td className={numberClass}>{resource.rateNow === null ? 'No limit' : formatRate(resource.rateNow)}</td>
      <td className={`${cellClass} text-[13px]`}>
        <p className={isChanged ? 'text-muted line-through' : ''}>{limitWords(resource.limits)}</p>
        {isChanged && <p>{limitWords(resource.override)} (set by an admin)</p>}
      </td>
      <td className={`${cellClass} text-right`}>
        <span className="inline-flex gap-2">
          <Button size="small" onClick={onHistory}>
            History<span className="sr-only"> of {`${resource.name} ${resource.key}`.trim()}</span>
          </Button>
          {onChange && (
            <Button size="small" onClick={onChange}>
              Edit<span className="sr-only"> {resource.name}</span>
            </Button>
          )}
        </span>
      </td>
    </tr>
  );
}

function limitWords(limits: Readonly<Record<string, unknown>> | null): string {
  if (limits === null) return 'No limit';
  const { ratePerSecond, concurrency, minDelayMs, adaptive, paused } = limits;
  const words = [
    paused === true && 'paused',
    typeof ratePerSecond === 'number' && formatRate(ratePerSecond),
    typeof concurrency === 'number' && `${formatCount(concurrency)} concurrent`,
    typeof minDelayMs === 'number' && minDelayMs > 0 && `${formatDuration(minDelayMs)} between calls`,
    adaptive === true && 'adaptive',
    adaptive === false && 'fixed',
  ].filter((each) => typeof each === 'string');
  return words.join(', ') || 'No limit';
}
