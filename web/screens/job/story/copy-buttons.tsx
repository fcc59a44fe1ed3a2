// Copies a row for other tools.
import { Copy } from 'lucide-react';
import { Button } from '../../../components/button.tsx';
import { say, sayError } from '../../../components/toasts.tsx';
import { copyText } from '../../../lib/copy-text.ts';
import type { ItemDetail, Job } from '../../../lib/job.ts';
import { basePath } from '../../../lib/server-page.ts';
import { asCurl, asFixture, asJson } from './row-copies.ts';
import type { Attempt } from './row-story.ts';

export interface CopyButtonsProps {
  job: Job;
  item: ItemDetail;
  attempts: readonly Attempt[];
}

export function CopyButtons({ job, item, attempts }: CopyButtonsProps) {
  const copies: [name: string, hint: string, text: () => string][] = [
    ['JSON', 'The row with its history and trace', () => asJson(item, attempts)],
    [
      'curl',
      'A command that reads the row over the API',
      () => asCurl(location.origin + basePath, job, item),
    ],
    ['fixture', 'A file for runFixture of rowmill/testing', () => asFixture(job, item)],
  ];
  return (
    <div role="group" aria-label="Copy as" className="flex flex-wrap items-center gap-1">
      <span className="flex items-center gap-1 text-[13px] text-muted">
        <Copy size={14} aria-hidden /> Copy as
      </span>
      {copies.map(([name, hint, text]) => (
        <Button
          key={name}
          kind="quiet"
          size="small"
          aria-label={`Copy as ${name}`}
          title={hint}
          onClick={() => void copyText(text()).then(() => say(`Copied as ${name}`), sayError)}
        >
          {name}
        </Button>
      ))}
    </div>
  );
}
