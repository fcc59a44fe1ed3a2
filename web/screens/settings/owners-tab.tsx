// Quotas of the owners of jobs, for administrators.
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { z } from 'zod';
import type { owner as ownerSchema } from '../../../src/contract/operations.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { cellClass, numberClass, rowClass, Table } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { formatCount } from '../../lib/format.ts';
import { OwnerDialog } from './owner-dialog.tsx';

type Owner = z.infer<typeof ownerSchema>;

export function OwnersTab() {
  const owners = useQuery({
    queryKey: ['owners'],
    queryFn: ({ signal }) => client.listOwners({}, { signal }),
  });
  const [changed, setChanged] = useState<Owner | 'new' | null>(null);
  const listed = owners.data?.items ?? [];
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-3">
        <p className="min-w-0 flex-1 basis-64 text-muted">
          Workers are split by share: an owner with share 3 gets three times the calls of an owner with share
          1 while both have work. Limits apply across all workers.
        </p>
        <Button onClick={() => setChanged('new')}>
          <Plus size={16} aria-hidden /> Add quota
        </Button>
      </div>
      {owners.isError && <FailureNote error={owners.error} />}
      {owners.isPending && <Loading />}
      {owners.isSuccess &&
        (listed.length === 0 ? (
          <EmptyState title="No quotas">Owners with active jobs or a quota appear here.</EmptyState>
        ) : (
          <Table
            label="Quotas"
            headings={[
              'Owner',
              'Share of workers',
              'Max jobs',
              'Max rows',
              'Keep jobs',
              'Active jobs',
              'Assigned rows',
              '',
            ]}
            numbers={[1, 2, 3, 4, 5, 6]}
          >
            {listed.map((owner) => (
              <tr key={owner.ownerId} className={rowClass}>
                <th scope="row" className={`${cellClass} font-medium`}>
                  {owner.ownerId}
                </th>
                <td className={numberClass}>{formatCount(owner.weight)}</td>
                <td className={numberClass}>{limitText(owner.maxRunningJobs)}</td>
                <td className={numberClass}>{limitText(owner.maxInFlight)}</td>
                <td className={numberClass}>{keepText(owner.keepDays ?? null)}</td>
                <td className={`${numberClass} text-muted`}>{formatCount(owner.openJobs)}</td>
                <td className={`${numberClass} text-muted`}>{formatCount(owner.itemsInFlight)}</td>
                <td className={`${cellClass} text-right`}>
                  <Button size="small" onClick={() => setChanged(owner)}>
                    Edit<span className="sr-only"> quota for {owner.ownerId}</span>
                  </Button>
                </td>
              </tr>
            ))}
          </Table>
        ))}
      {changed !== null && (
        <OwnerDialog owner={changed === 'new' ? null : changed} onClose={() => setChanged(null)} />
      )}
    </div>
  );
}

function limitText(limit: number | null): string {
  return limit === null ? 'No limit' : formatCount(limit);
}

function keepText(days: number | null): string {
  if (days === null) return 'Default';
  return days === 0 ? 'For ever' : `${formatCount(days)} d`;
}
