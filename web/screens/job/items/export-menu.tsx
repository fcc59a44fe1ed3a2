// Downloads the rows and columns of this view, streamed or generated in the background.
import { Download } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { Menu, MenuItem, MenuLink } from '../../../components/menu.tsx';
import { actOnJob } from '../../../lib/act-on-job.ts';
import { client } from '../../../lib/client.ts';
import { downloadFormats } from '../../../lib/download-formats.ts';
import { formatCount } from '../../../lib/format.ts';
import type { Job } from '../../../lib/job.ts';
import { usePermission } from '../../../lib/permission.ts';
import { basePath } from '../../../lib/server-page.ts';
import { useJobSearch } from '../use-job-search.ts';
import type { ArrangedColumn } from './column-layout.ts';
import { columnsQuery, exportQuery, type ItemFilter } from './item-filter.ts';

export interface ExportMenuProps {
  job: Job;
  filter: ItemFilter;
  /** All columns, in order. */
  arranged: readonly ArrangedColumn[];
}

export function ExportMenu({ job, filter, arranged }: ExportMenuProps) {
  const [, change] = useJobSearch();
  const { jobId } = job;
  const { can } = usePermission();
  const exported = arranged.filter(({ isExported }) => isExported);
  const columns = columnsQuery(exported.flatMap((column) => column.exported ?? []));
  const prepare = async () => {
    const worked = await actOnJob(jobId, 'Preparing file — find it under Files', () =>
      client.prepareExport({ jobId, format: 'csv', ...filter, ...columns }),
    );
    if (worked) change({ tab: 'files' }, false);
  };
  if (!can('exportJob')) return null;
  return (
    <Menu
      label={
        <>
          <Download size={15} aria-hidden /> <span className="max-sm:sr-only">Export view</span>
        </>
      }
    >
      {downloadFormats(job.source, navigator.language).map(({ formatId, word, query }) => (
        <MenuLink
          key={formatId}
          href={`${basePath}/api/v1/jobs/${jobId}/export?${exportQuery(filter, query, columns)}`}
          download
        >
          {word}
        </MenuLink>
      ))}
      <DropdownMenu.Separator className="my-1 h-px bg-line" />
      {can('prepareExport') && (
        <MenuItem onSelect={() => void prepare()}>Generate CSV in background</MenuItem>
      )}
      <p className="max-w-56 px-2.5 pt-1 pb-1.5 text-xs text-muted">
        {columnWords(exported, columns.columns !== undefined)}
      </p>
    </Menu>
  );
}

function columnWords(exported: readonly ArrangedColumn[], areNamed: boolean): string {
  if (!areNamed)
    return 'Includes all columns in file order (too many to keep your arrangement) and filtered rows.';
  return `Includes the ${formatCount(exported.length)} visible columns and filtered rows.`;
}
