// The check of the file: counts by kind of problem, and the rows, all or only those with problems, page by page.
import { CircleCheck, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { formatBytes, formatCount } from '../../lib/format.ts';
import { checkWords, isOfKind, kindWords, type ProblemKind } from './check-words.ts';
import { type Preview, withoutProblemsOf } from './column-choices.ts';
import { PreviewRows } from './preview-rows.tsx';
import type { FileCheck } from './use-check.ts';

export interface CheckedRowsProps {
  preview: Preview;
  check: FileCheck;
  /** A pipeline is selected, so the rows are validated against it. */
  isChecked: boolean;
  /** Required fields without a column: every row lacks them. */
  lacking: readonly string[];
}

const PAGE_ROWS = 100;
/** More kinds are in the list of rows only. */
const SHOWN_KINDS = 12;

export function CheckedRows({ preview, check, isChecked, lacking }: CheckedRowsProps) {
  const [onlyProblems, setOnlyProblems] = useState(false);
  const [kind, setKind] = useState<ProblemKind | null>(null);
  const [page, setPage] = useState(0);
  const { state } = check;
  const { checked, problemRows }: Pick<Preview, 'checked' | 'problemRows'> =
    state.step === 'done' && lacking.length === 0 ? state : preview;
  const wanted = kind !== null && checked.kinds.some((each) => isOfKind(each, kind)) ? kind : null;
  const isFiltered = onlyProblems || wanted !== null;
  const all = isFiltered ? withoutProblemsOf(problemRows, lacking) : withoutProblemsOf(preview.rows, lacking);
  const rows = all.filter(
    ({ problems }) =>
      !isFiltered || (wanted ? problems.some((each) => isOfKind(each, wanted)) : problems.length > 0),
  );
  const last = Math.max(0, Math.ceil(rows.length / PAGE_ROWS) - 1);
  const at = Math.min(page, last);
  const choose = (next: ProblemKind | null): void => {
    setKind(next);
    setPage(0);
  };
  return (
    <div className="flex flex-col gap-2">
      <h3 className="font-medium">Preview</h3>
      {lacking.length > 0 ? (
        <p className="text-muted">Match {lacking.join(', ')} to check your rows.</p>
      ) : (
        <>
          <Summary checked={checked} isChecked={isChecked} />
          <CheckProgress check={check} preview={preview} isChecked={isChecked} />
          {checked.kinds.length > 0 && <Kinds kinds={checked.kinds} chosen={wanted} onChoose={choose} />}
        </>
      )}
      {checked.kinds.length > 0 && lacking.length === 0 && (
        <CheckField
          label="Problems only"
          checked={isFiltered}
          onChange={({ target }) => {
            setOnlyProblems(target.checked);
            choose(null);
          }}
        />
      )}
      {rows.length === 0 ? (
        <p className="text-muted">
          {isFiltered
            ? 'The rows with this problem are not among the listed ones.'
            : preview.detected.format === 'images'
              ? 'Each image becomes one row.'
              : 'This file has no rows.'}
        </p>
      ) : (
        <PreviewRows rows={rows.slice(at * PAGE_ROWS, (at + 1) * PAGE_ROWS)} columns={preview.columns} />
      )}
      {last > 0 && (
        <nav aria-label="Pages of rows" className="flex items-center gap-2 text-[13px]">
          <Button size="small" disabled={at === 0} onClick={() => setPage(at - 1)}>
            Previous
          </Button>
          <span>
            {formatCount(at * PAGE_ROWS + 1)}–{formatCount(Math.min(rows.length, (at + 1) * PAGE_ROWS))} of{' '}
            {formatCount(rows.length)}
          </span>
          <Button size="small" disabled={at === last} onClick={() => setPage(at + 1)}>
            Next
          </Button>
        </nav>
      )}
    </div>
  );
}

function Summary({ checked, isChecked }: { checked: Preview['checked']; isChecked: boolean }) {
  if (checked.rows === 0) return null;
  const rows = `${formatCount(checked.rows)} ${checked.rows === 1 ? 'row' : 'rows'}`;
  const of = checked.wholeFile
    ? `Checked ${checked.rows === 1 ? '' : 'all '}${rows}`
    : `Checked the first ${rows}`;
  const words = checkWords(checked);
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

/** The check of the rest of a large file: offered, in progress or failed. */
function CheckProgress({
  check: { state, start },
  preview,
  isChecked,
}: Pick<CheckedRowsProps, 'check' | 'preview' | 'isChecked'>) {
  if (state.step === 'idle')
    return start === null || preview.checked.wholeFile || !isChecked ? null : (
      <div>
        <Button size="small" onClick={start}>
          Check all rows
        </Button>
      </div>
    );
  if (state.step === 'failed')
    return (
      <p role="alert" className="flex flex-wrap items-center gap-2 text-bad">
        The rest of the file could not be checked: {state.message}
        {start !== null && (
          <Button size="small" onClick={start}>
            Try again
          </Button>
        )}
      </p>
    );
  if (state.step === 'done')
    return state.checked.stoppedBy === 'time' ? (
      <p className="text-muted">The file is too long to check all of it before the start.</p>
    ) : null;
  const words =
    state.step === 'sending'
      ? `Uploading to check all rows: ${formatBytes(state.sent)}${state.total === null ? '' : ` of ${formatBytes(state.total)}`}`
      : `Checking all rows: ${formatCount(state.checked.rows)} so far, ${formatCount(state.checked.refused + state.checked.rejected)} with problems`;
  return (
    <p role="status" className="text-muted">
      {words}
    </p>
  );
}

function Kinds({
  kinds,
  chosen,
  onChoose,
}: {
  kinds: readonly ProblemKind[];
  chosen: ProblemKind | null;
  onChoose: (kind: ProblemKind | null) => void;
}) {
  return (
    <div role="group" aria-label="Kinds of problems" className="flex flex-wrap gap-2">
      {kinds.slice(0, SHOWN_KINDS).map((each) => {
        const isChosen = chosen !== null && isOfKind(each, chosen);
        return (
          <Button
            key={kindWords(each)}
            size="small"
            aria-pressed={isChosen}
            className={isChosen ? 'border-accent bg-accent-soft' : ''}
            onClick={() => onChoose(isChosen ? null : each)}
          >
            <span className="max-w-72 truncate font-normal" title={kindWords(each)}>
              {kindWords(each)}
            </span>
            <span className="tabular-nums">{formatCount(each.rows)}</span>
          </Button>
        );
      })}
    </div>
  );
}
