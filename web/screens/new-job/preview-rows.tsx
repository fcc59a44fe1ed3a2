// Rows as they would be stored, with problems beside their cell or row.
import { ArrowRight } from 'lucide-react';
import { cellText } from '../../lib/cell-text.ts';
import { classNames } from '../../lib/class-names.ts';
import { formatCount } from '../../lib/format.ts';
import type { Preview } from './column-choices.ts';

export interface PreviewRowsProps {
  rows: Preview['rows'];
  columns: Preview['columns'];
}

interface ShownColumn {
  header: string;
  field: string;
}

export function PreviewRows({ rows, columns }: PreviewRowsProps) {
  const shown = columns.filter(({ field }) => field !== null) as ShownColumn[];
  return (
    <section
      aria-label="Preview"
      tabIndex={0}
      className="relative max-h-[26rem] overflow-auto rounded-md border border-line"
    >
      <table className="w-full text-left text-[13px]">
        <thead className="sticky top-0 bg-sunken">
          <tr>
            <th scope="col" className="px-2.5 py-1.5 font-medium text-muted">
              Line
            </th>
            {shown.map(({ header, field }) => (
              <th key={field} scope="col" className="px-2.5 py-1.5 font-medium whitespace-nowrap">
                {header || field}
                {header !== field && (
                  <span className="flex items-center gap-1 font-mono text-xs text-muted">
                    <ArrowRight size={12} aria-hidden /> {field}
                  </span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <PreviewRow key={row.line} row={row} columns={shown} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function PreviewRow({
  row: { line, input, raw, problems },
  columns,
}: {
  row: Preview['rows'][number];
  columns: readonly ShownColumn[];
}) {
  const known = new Set(columns.map(({ field }) => field));
  const ofRow = problems.filter(({ field }) => input === null || field === null || !known.has(field));
  return (
    <>
      <tr className={classNames('border-t border-line align-top', problems.length > 0 && 'bg-bad-soft/40')}>
        <th
          scope="row"
          className={classNames(
            'px-2.5 py-1.5 font-normal text-muted tabular-nums',
            problems.length > 0 && 'border-l-2 border-l-bad',
          )}
        >
          {formatCount(line)}
        </th>
        {input === null ? (
          <td colSpan={Math.max(1, columns.length)} className="px-2.5 py-1.5">
            {raw !== null ? (
              <>
                <span className="text-muted">This line will be left out: </span>
                <code className="font-mono break-all whitespace-pre-wrap">{raw}</code>
              </>
            ) : (
              <span className="text-muted">Too long to preview.</span>
            )}
          </td>
        ) : (
          columns.map(({ field }) => (
            <PreviewCell
              key={field}
              text={cellText(input, field)}
              problems={problems.filter((problem) => problem.field === field).map(({ message }) => message)}
            />
          ))
        )}
      </tr>
      {ofRow.length > 0 && (
        <tr className="bg-bad-soft/40">
          <td className="border-l-2 border-l-bad" />
          <td colSpan={Math.max(1, columns.length)} className="px-2.5 pb-1.5 text-bad">
            {ofRow
              .map(({ field, message }) => (field === null ? message : `${field}: ${message}`))
              .join('; ')}
          </td>
        </tr>
      )}
    </>
  );
}

function PreviewCell({ text, problems }: { text: string; problems: readonly string[] }) {
  return (
    <td className={classNames('max-w-72 min-w-24 px-2.5 py-1.5', problems.length > 0 && 'bg-bad-soft')}>
      <span className="line-clamp-2 break-words whitespace-pre-wrap" title={text}>
        {text}
      </span>
      {problems.map((message) => (
        <span key={message} className="block text-xs text-bad first-letter:uppercase">
          {message}
        </span>
      ))}
    </td>
  );
}
