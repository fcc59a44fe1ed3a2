// The rows and columns of this view as a file, streamed as it is asked for, or prepared when it takes long.
import { Download } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { Menu, MenuItem, MenuLink } from '../../../components/menu.tsx';
import { actOnJob } from '../../../lib/act-on-job.ts';
import { client } from '../../../lib/client.ts';
import type { Job } from '../../../lib/job.ts';
import { usePermission } from '../../../lib/permission.ts';
import { basePath } from '../../../lib/server-page.ts';
import { useJobSearch } from '../use-job-search.ts';
import type { GridColumn } from './grid-columns.ts';
import { exportQuery, type ItemFilter } from './item-filter.ts';

const FORMATS = [
  ['csv', 'CSV'],
  ['xlsx', 'Excel (XLSX)'],
  ['jsonl', 'JSON lines'],
] as const;

export interface ExportMenuProps {
  job: Job;
  filter: ItemFilter;
  columns: readonly GridColumn[];
}

export function ExportMenu({ job, filter, columns }: ExportMenuProps) {
  const [, change] = useJobSearch();
  const { jobId } = job;
  const { can } = usePermission();
  const names = columns.flatMap(({ exported }) => exported ?? []);
  const prepare = async () => {
    const worked = await actOnJob(jobId, 'The file is being prepared: it is found under Files', () =>
      client.prepareExport({ jobId, format: 'csv', ...filter, columns: JSON.stringify(names) }),
    );
    if (worked) change({ tab: 'files' }, false);
  };
  if (!can('exportJob')) return null;
  return (
    <Menu
      label={
        <>
          <Download size={15} aria-hidden /> Export <span className="hidden sm:inline">this view</span>
        </>
      }
    >
      {FORMATS.map(([format, word]) => (
        <MenuLink
          key={format}
          href={`${basePath}/api/v1/jobs/${jobId}/export?${exportQuery(filter, format, names)}`}
          download
        >
          {word}
        </MenuLink>
      ))}
      <DropdownMenu.Separator className="my-1 h-px bg-line" />
      {can('prepareExport') && (
        <MenuItem onSelect={() => void prepare()}>Prepare a CSV in the background</MenuItem>
      )}
      <p className="max-w-56 px-2.5 pt-1 pb-1.5 text-xs text-muted">
        With these {names.length} columns, in this order, and the rows that fit the filter.
      </p>
    </Menu>
  );
}
