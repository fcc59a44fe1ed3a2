// One large button that downloads all results of a job, in the format chosen last.
import { Check, ChevronDown, Download } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { useState } from 'react';
import { downloadName } from '../../../src/core/files/download-name.ts';
import { menuItemClass, menuPlace } from '../../components/menu.tsx';
import { classNames } from '../../lib/class-names.ts';
import {
  chosenFormat,
  type DownloadFormat,
  downloadFormats,
  keepFormat,
} from '../../lib/download-formats.ts';
import type { Job } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import { basePath } from '../../lib/server-page.ts';

const partClass =
  'inline-flex h-11 items-center justify-center gap-2 bg-accent font-semibold whitespace-nowrap text-accent-text hover:brightness-110';

export function DownloadResults({ job }: { job: Job }) {
  const { can } = usePermission();
  const formats = downloadFormats(job.source, navigator.language);
  const [chosen, setChosen] = useState(() => chosenFormat(localStorage, formats));
  const format = formats.find(({ formatId }) => formatId === chosen.formatId) ?? formats[0]!;
  if (!can('exportJob') || job.itemCount === 0) return null;
  const choose = (next: DownloadFormat) => {
    keepFormat(localStorage, next);
    setChosen(next);
  };
  const name = downloadName(job, { part: 'results', extension: format.extension });
  return (
    <div className="no-print flex flex-col gap-1">
      <div className="flex w-full">
        <a
          href={`${basePath}/api/v1/jobs/${job.jobId}/export?${new URLSearchParams(format.query).toString()}`}
          download
          className={classNames(partClass, 'flex-1 rounded-l-md px-5 text-[15px]')}
        >
          <Download size={18} aria-hidden /> Download {FORMAT_WORDS[format.formatId]}
        </a>
        <DropdownMenu.Root modal={false}>
          <DropdownMenu.Trigger
            aria-label={`Format: ${format.word}`}
            title="Format"
            className={classNames(partClass, 'w-10 rounded-r-md border-l border-accent-text/30')}
          >
            <ChevronDown size={16} aria-hidden />
          </DropdownMenu.Trigger>
          <DropdownMenu.Portal container={menuPlace()}>
            <DropdownMenu.Content
              align="end"
              sideOffset={4}
              collisionPadding={8}
              className="z-50 min-w-56 rounded-md border border-line bg-surface p-1 shadow-lg"
            >
              <DropdownMenu.RadioGroup value={format.formatId}>
                {formats.map((each) => (
                  <DropdownMenu.RadioItem
                    key={each.formatId}
                    value={each.formatId}
                    onSelect={() => choose(each)}
                    className={menuItemClass}
                  >
                    <span className="w-4">
                      <DropdownMenu.ItemIndicator>
                        <Check size={15} aria-hidden />
                      </DropdownMenu.ItemIndicator>
                    </span>
                    {each.word}
                  </DropdownMenu.RadioItem>
                ))}
              </DropdownMenu.RadioGroup>
            </DropdownMenu.Content>
          </DropdownMenu.Portal>
        </DropdownMenu.Root>
      </div>
      <p className="max-w-72 truncate text-xs text-muted max-sm:sr-only" title={name}>
        {name}
      </p>
    </div>
  );
}

const FORMAT_WORDS: Record<DownloadFormat['formatId'], string> = {
  csv: 'CSV',
  'excel-csv': 'CSV for Excel',
  xlsx: 'Excel',
  jsonl: 'JSON Lines',
};
