// Filters for unfinished rows: status, pipeline, job, days and owner.
import { useQuery } from '@tanstack/react-query';
import { TextField } from '../../components/field.tsx';
import { SelectField } from '../../components/select-field.tsx';
import { client } from '../../lib/client.ts';
import { usePermission } from '../../lib/permission.ts';
import type { pendingRoute } from '../../routes/router.tsx';

export type PendingSearch = ReturnType<typeof pendingRoute.useSearch>;

const STATUSES = [
  ['', 'All'],
  ['PROCESSING', 'On a worker'],
  ['PENDING', 'Pending'],
  ['RETRYING', 'Retrying'],
  ['HELD', 'On hold'],
] as const;
const OPEN_STATES = 'INGESTING,QUEUED,RUNNING,PAUSED,FINALIZING,CANCELLING';

export interface PendingFiltersProps {
  search: PendingSearch;
  onChange: (next: Partial<PendingSearch>) => void;
}

export function PendingFilters({ search, onChange }: PendingFiltersProps) {
  const { seesAll } = usePermission();
  const pipelines = useQuery({ queryKey: ['pipelines'], queryFn: () => client.listPipelines() });
  const jobs = useQuery({
    queryKey: ['jobs', 'open', search.all],
    queryFn: () =>
      client.listJobs({ states: OPEN_STATES, pageSize: 200, ...(search.all && { all: 'true' as const }) }),
  });
  const types = withChosen(
    pipelines.data?.items.map(({ name }) => [name, name] as const) ?? [],
    search.jobType,
  );
  const open = withChosen(
    jobs.data?.items.map(({ jobId, name }) => [jobId, name || jobId.slice(0, 8)] as const) ?? [],
    search.jobId,
  );
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-6">
      <SelectField
        label="Status"
        value={search.statuses ?? ''}
        choices={STATUSES}
        onChange={({ target }) => onChange({ statuses: target.value })}
      />
      <SelectField
        label="Pipeline"
        value={search.jobType ?? ''}
        choices={[['', 'All'], ...types]}
        onChange={({ target }) => onChange({ jobType: target.value })}
      />
      <SelectField
        label="Job"
        value={search.jobId ?? ''}
        choices={[['', 'All'], ...open]}
        onChange={({ target }) => onChange({ jobId: target.value })}
      />
      <TextField
        label="Updated from"
        type="date"
        value={search.from ?? ''}
        onChange={({ target }) => onChange({ from: target.value })}
      />
      <TextField
        label="Updated to"
        type="date"
        value={search.to ?? ''}
        onChange={({ target }) => onChange({ to: target.value })}
      />
      {seesAll && (
        <SelectField
          label="Owner"
          value={search.all ? 'all' : 'me'}
          choices={[
            ['me', 'Me'],
            ['all', 'Everyone'],
          ]}
          onChange={({ target }) => onChange({ all: target.value === 'all' })}
        />
      )}
    </div>
  );
}

/** Adds the value of the URL to the choices if it is missing. */
function withChosen(
  choices: readonly (readonly [string, string])[],
  chosen: string | undefined,
): readonly (readonly [string, string])[] {
  if (!chosen || choices.some(([value]) => value === chosen)) return choices;
  return [...choices, [chosen, chosen.slice(0, 12)]];
}
