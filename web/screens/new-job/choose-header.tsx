// The first rows of a table as they are in the file. The row that names the columns is marked, and another one can be
// chosen; so can the sheet of a workbook.
import { TriangleAlert } from 'lucide-react';
import { useId, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { classNames } from '../../lib/class-names.ts';
import { formatCount } from '../../lib/format.ts';
import type { Preview } from './column-choices.ts';
import { headerWords, roleOf, type RowRole, sheetWords, shortTop, type Top } from './header-words.ts';
import type { FormatOptions } from './use-preview.ts';

export interface ChooseHeaderProps {
  top: Top;
  detected: Preview['detected'];
  format: FormatOptions;
  onChange: (format: FormatOptions) => void;
}

const ROLE_WORDS: Record<RowRole, string> = { skipped: 'Skipped', header: 'Header', data: '' };

export function ChooseHeader({ top, detected, format, onChange }: ChooseHeaderProps) {
  const group = useId();
  const [isAll, setAll] = useState(false);
  const layout = (detected.csv ?? detected.table ?? {}) as { skipLines?: number };
  const skipLines = layout.skipLines ?? 0;
  const short = shortTop(top, skipLines);
  const rows = isAll ? top.rows : short;
  const width = Math.max(1, ...rows.map(({ cells }) => cells.length));
  const columns = Array.from({ length: width }, (_, at) => at);
  const choose = (line: number): void => onChange({ ...format, header: true, skipLines: line - 1 });
  return (
    <div className="flex flex-col gap-2">
      {top.sheets && top.sheets.length > 1 && (
        <ChooseSheet
          sheets={top.sheets}
          chosen={String(detected.sheet)}
          onChoose={(sheet) => onChange(sheetOf(format, sheet))}
        />
      )}
      {top.refusal !== null && (
        <p role="alert" className="flex gap-2 rounded-md bg-bad-soft px-3 py-2 text-bad">
          <TriangleAlert size={16} className="mt-0.5 shrink-0" aria-hidden /> This file does not look like a
          table from the marked header row on. Choose the row that names the columns
          {top.sheets && top.sheets.length > 1 ? ', or another sheet' : ''}.
        </p>
      )}
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3 className="font-medium">Header row</h3>
        <label className="flex items-center gap-2 text-[13px]">
          <input
            type="radio"
            name={group}
            checked={top.headerLines.length === 0}
            onChange={() => onChange({ ...format, header: false, skipLines })}
          />
          No header row
        </label>
      </div>
      <p className="text-[13px] text-muted">
        {headerWords(top, skipLines)} Click another row if that is wrong.
      </p>
      <section
        aria-label="First rows of the file"
        tabIndex={0}
        className="relative max-h-80 overflow-auto rounded-md border border-line"
      >
        <table className="w-full text-left text-[13px]">
          <tbody>
            {rows.map(({ line, cells }) => {
              const role = roleOf(line, top.headerLines, top.headerLines[0] ?? skipLines + 1);
              return (
                <tr
                  key={line}
                  onClick={() => choose(line)}
                  className={classNames(
                    'cursor-pointer border-b border-line last:border-b-0 hover:bg-sunken',
                    role === 'header' && 'bg-accent-soft font-medium',
                    role === 'skipped' && 'text-muted',
                  )}
                >
                  <td className="px-2.5 py-1.5 whitespace-nowrap">
                    <label className="flex items-center gap-2 tabular-nums">
                      <input
                        type="radio"
                        name={group}
                        aria-label={`Row ${formatCount(line)} names the columns`}
                        checked={top.headerLines[0] === line}
                        onChange={() => choose(line)}
                      />
                      {formatCount(line)}
                      <span className="text-xs">{ROLE_WORDS[role]}</span>
                    </label>
                  </td>
                  {columns.map((at) => (
                    <td key={at} className="max-w-48 truncate px-2.5 py-1.5" title={cells[at] ?? ''}>
                      {cells[at] ?? ''}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
      {short.length < top.rows.length && (
        <div>
          <Button size="small" onClick={() => setAll(!isAll)}>
            {isAll ? 'Show fewer rows' : 'Show more rows'}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Another sheet has another layout. */
function sheetOf({ header: _, skipLines: __, ...rest }: FormatOptions, sheet: string): FormatOptions {
  return { ...rest, sheet };
}

function ChooseSheet({
  sheets,
  chosen,
  onChoose,
}: {
  sheets: NonNullable<Top['sheets']>;
  chosen: string;
  onChoose: (sheet: string) => void;
}) {
  return (
    <div role="group" aria-label="Sheet" className="flex flex-wrap gap-2">
      {sheets.map((sheet) => (
        <Button
          key={sheet.name}
          size="small"
          aria-pressed={sheet.name === chosen}
          disabled={sheet.rows === 0}
          className={classNames(sheet.name === chosen && 'border-accent bg-accent-soft')}
          onClick={() => onChoose(sheet.name)}
        >
          {sheet.name} <span className="font-normal text-muted">{sheetWords(sheet)}</span>
        </Button>
      ))}
    </div>
  );
}
