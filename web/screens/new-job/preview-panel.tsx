// Preview of the file: format, column mapping, first rows and their problems.
import type { UseQueryResult } from '@tanstack/react-query';
import { Button } from '../../components/button.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Section } from '../../components/section.tsx';
import { CheckedRows } from './checked-rows.tsx';
import { type ColumnChoice, matchedWords, missingRequired, type Preview } from './column-choices.ts';
import { ChooseHeader } from './choose-header.tsx';
import { MapColumns } from './map-columns.tsx';
import { ReadingOptions } from './reading-options.tsx';
import type { FileCheck } from './use-check.ts';
import type { FormatOptions, PreviewAnswer, PreviewTooLarge } from './use-preview.ts';

export interface PreviewPanelProps {
  query: UseQueryResult<PreviewAnswer | PreviewTooLarge>;
  check: FileCheck;
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
  check,
  choices,
  isChecked,
  format,
  onFormat,
  onChoose,
}: PreviewPanelProps & { preview: Preview }) {
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
          <p className="text-[13px] text-muted">
            {matchedWords(choices)} Other columns are kept and returned with your results.
          </p>
          <MapColumns
            choices={choices}
            headers={preview.columns.map(({ header }) => header)}
            onChoose={onChoose}
          />
        </div>
      )}
      <CheckedRows preview={preview} check={check} isChecked={isChecked} lacking={missingRequired(choices)} />
    </div>
  );
}
