// Preview of the file: format, column mapping, first rows and their problems.
import type { UseQueryResult } from '@tanstack/react-query';
import { CircleCheck, TriangleAlert } from 'lucide-react';
import { Button } from '../../components/button.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Section } from '../../components/section.tsx';
import { formatCount } from '../../lib/format.ts';
import { type ColumnChoice, missingRequired, type Preview, withoutProblemsOf } from './column-choices.ts';
import { checkWords } from './check-words.ts';
import { ChooseHeader } from './choose-header.tsx';
import { MapColumns } from './map-columns.tsx';
import { PreviewRows } from './preview-rows.tsx';
import { ReadingOptions } from './reading-options.tsx';
import type { FormatOptions, PreviewAnswer, PreviewTooLarge } from './use-preview.ts';

export interface PreviewPanelProps {
  query: UseQueryResult<PreviewAnswer | PreviewTooLarge>;
  choices: readonly ColumnChoice[];
  /** A pipeline is selected, so the rows are validated against it. */
  isChecked: boolean;
  format: FormatOptions;
  onFormat: (format: FormatOptions) => void;
  onChoose: (field: string, header: string | null) => void;
  onEvenLarge: () => void;
}

export function PreviewPanel(props: PreviewPanelProps) {
  const { query, format, onFormat, onEvenLarge } = props;
  return (
    <Section
      title="3. Match columns and check"
      aside={
        <span role="status" className="text-[13px] text-muted">
          {query.isFetching ? 'Reading…' : ''}
        </span>
      }
    >
      {query.isError ? (
        <FailureNote
          error={query.error}
          action={
            <div className="flex gap-2">
              {Object.keys(format).length > 0 && (
                <Button onClick={() => onFormat({})}>Reset to auto-detected</Button>
              )}
              <Button onClick={() => void query.refetch()}>Try again</Button>
            </div>
          }
        />
      ) : !query.data ? (
        <p className="text-muted">Reading file…</p>
      ) : query.data.tooLarge ? (
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="max-w-prose">
            This file is large and must be uploaded to preview. Preview it now, or start and review problems
            afterwards.
          </p>
          <Button onClick={onEvenLarge}>Upload for preview</Button>
        </div>
      ) : (
        <Seen {...props} preview={query.data.preview} />
      )}
    </Section>
  );
}

function Seen({
  preview,
  choices,
  isChecked,
  format,
  onFormat,
  onChoose,
}: PreviewPanelProps & { preview: Preview }) {
  const lacking = missingRequired(choices);
  return (
    <div className="flex flex-col gap-5">
      <ReadingOptions
        detected={preview.detected}
        format={format}
        hasTop={preview.top !== null}
        onChange={onFormat}
      />
      {preview.top && (
        <ChooseHeader top={preview.top} detected={preview.detected} format={format} onChange={onFormat} />
      )}
      {choices.length > 0 && preview.columns.length > 0 && (
        <div>
          <h3 className="font-medium">Match columns</h3>
          <p className="text-[13px] text-muted">Unmatched columns are kept and returned with your results.</p>
          <MapColumns
            choices={choices}
            headers={preview.columns.map(({ header }) => header)}
            onChoose={onChoose}
          />
        </div>
      )}
      <div className="flex flex-col gap-2">
        <h3 className="font-medium">Preview</h3>
        {lacking.length === 0 ? (
          <>
            <LookedAt preview={preview} isChecked={isChecked} />
            <RefusedRows checked={preview.checked} />
          </>
        ) : (
          <p className="text-muted">Match {lacking.join(', ')} to check your rows.</p>
        )}
        <PreviewRows preview={withoutProblemsOf(preview, lacking)} />
      </div>
    </div>
  );
}

function LookedAt({ preview, isChecked }: { preview: Preview; isChecked: boolean }) {
  const { checked } = preview;
  if (checked.rows === 0) return null;
  const rows = `${formatCount(checked.rows)} ${checked.rows === 1 ? 'row' : 'rows'}`;
  const of = checked.wholeFile
    ? `Checked ${checked.rows === 1 ? '' : 'all '}${rows}`
    : `Checked the first ${rows}`;
  const words = checkWords(preview);
  if (words.length === 0)
    return (
      <p className="flex items-center gap-2 text-good">
        <CircleCheck size={16} className="shrink-0" aria-hidden /> {of}:{' '}
        {isChecked ? 'no problems.' : 'readable. Choose a pipeline to validate them.'}
      </p>
    );
  return (
    <p className="flex items-start gap-2 text-warn">
      <TriangleAlert size={16} className="mt-0.5 shrink-0" aria-hidden /> {of}: {words.join(' ')}
    </p>
  );
}

/** Why rows cannot run, including rows that are not shown. */
function RefusedRows({ checked }: { checked: Preview['checked'] }) {
  const count = checked.refused + checked.rejected;
  if (count === 0) return null;
  return (
    <div className="text-[13px]">
      <p>{checked.reasons.length < count ? 'The first reasons:' : 'Reasons:'}</p>
      <ul className="list-disc pl-5 text-muted">
        {checked.reasons.map(({ line, reason }) => (
          <li key={line}>
            Line {formatCount(line)}: {reason}
          </li>
        ))}
      </ul>
    </div>
  );
}
