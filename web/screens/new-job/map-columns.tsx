// Maps columns to fields, with one-click suggestions for near matches.
import { Check, CircleDashed, TriangleAlert } from 'lucide-react';
import { useId } from 'react';
import { Button } from '../../components/button.tsx';
import { inputClass } from '../../components/field.tsx';
import { classNames } from '../../lib/class-names.ts';
import type { ColumnChoice } from './column-choices.ts';

export interface MapColumnsProps {
  choices: readonly ColumnChoice[];
  headers: readonly string[];
  onChoose: (field: string, header: string | null) => void;
}

export function MapColumns({ choices, headers, onChoose }: MapColumnsProps) {
  return (
    <ul className="divide-y divide-line">
      {choices.map((choice) => (
        <MapField key={choice.field} choice={choice} headers={headers} onChoose={onChoose} />
      ))}
    </ul>
  );
}

function MapField({
  choice: { field, required, column, isGiven, suggestions },
  headers,
  onChoose,
}: {
  choice: ColumnChoice;
} & Omit<MapColumnsProps, 'choices'>) {
  const id = useId();
  const isLacking = required && column === null;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1.5 py-2">
      <label htmlFor={id} className="flex w-full items-center gap-2 sm:w-56">
        {column !== null ? (
          <Check size={16} className="shrink-0 text-good" aria-hidden />
        ) : isLacking ? (
          <TriangleAlert size={16} className="shrink-0 text-bad" aria-hidden />
        ) : (
          <CircleDashed size={16} className="shrink-0 text-muted" aria-hidden />
        )}
        <span className="min-w-0 truncate font-mono text-[13px]">{field}</span>
        <span className={classNames('text-[13px]', isLacking ? 'text-bad' : 'text-muted')}>
          {required ? (isLacking ? 'required' : '') : 'optional'}
        </span>
      </label>
      <select
        id={id}
        value={column ?? ''}
        aria-invalid={isLacking || undefined}
        onChange={({ target }) => onChoose(field, target.value === '' ? null : target.value)}
        className={classNames(inputClass, 'w-full sm:w-64')}
      >
        {(column === null || isGiven) && <option value="">{isGiven ? 'Automatic' : 'Not mapped'}</option>}
        {[...new Set(headers)]
          .filter((header) => header !== '')
          .map((header) => (
            <option key={header} value={header}>
              {header}
            </option>
          ))}
      </select>
      {column === null &&
        suggestions.map((header) => (
          <Button key={header} size="small" onClick={() => onChoose(field, header)}>
            Use “{header}”?
          </Button>
        ))}
    </li>
  );
}
