// The fields of a value as a list; nested values are shown as JSON.
import { cellText } from '../../../src/core/files/export-columns.ts';
import { CellValue } from './items/cell-value.tsx';

export interface ValueListProps {
  value: unknown;
  /** Order of the fields; the database does not keep it. */
  order?: readonly string[];
}

export function ValueList({ value, order = [] }: ValueListProps) {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return (
      <pre tabIndex={0} className="overflow-auto rounded-md bg-sunken px-3 py-2 font-mono text-[13px]">
        {value === null ? 'Empty' : typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
      </pre>
    );
  const place = (key: string): number => (order.includes(key) ? order.indexOf(key) : order.length);
  const fields = Object.entries(value).toSorted(([a], [b]) => place(a) - place(b));
  if (fields.length === 0) return <p className="text-muted">Empty</p>;
  return (
    <dl className="grid grid-cols-[minmax(6rem,max-content)_1fr] overflow-hidden rounded-md border border-line">
      {fields.map(([key, field]) => (
        <div key={key} className="col-span-2 grid grid-cols-subgrid border-b border-line last:border-b-0">
          <dt className="max-w-44 border-r border-line bg-sunken px-3 py-1.5 text-[13px] break-words text-muted">
            {key}
          </dt>
          <dd className="m-0 min-w-0 px-3 py-1.5 break-words whitespace-pre-wrap">
            {field !== null && typeof field === 'object' ? (
              <pre tabIndex={0} className="max-h-72 overflow-auto font-mono text-[13px] whitespace-pre-wrap">
                {JSON.stringify(field, null, 2)}
              </pre>
            ) : (
              <CellValue text={cellText(field)} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
