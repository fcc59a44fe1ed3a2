// Maps columns to fields, with the confidence of each match and one-click suggestions for near matches.
import { Check, CircleDashed, TriangleAlert } from 'lucide-react';
import { useId } from 'react';
import { Button } from '../../components/button.tsx';
import { inputClass } from '../../components/field.tsx';
import { classNames } from '../../lib/class-names.ts';
import { type ColumnChoice, NO_COLUMN } from './column-choices.ts';

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

const MATCH_WORDS = {
  given: 'selected by you',
  sure: 'sure: same name',
  likely: 'likely',
  guess: 'guess, please check',
} as const;
/** Values of options that are not headers; headers have no NUL. */
const RESET = '\0reset';
const NONE = '\0none';

function MapField({
  choice: { field, required, column, match, isGiven, suggestions },
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
        value={column ?? NONE}
        aria-invalid={isLacking || undefined}
        onChange={({ target: { value } }) =>
          onChoose(field, value === RESET ? null : value === NONE ? NO_COLUMN : value)
        }
        className={classNames(inputClass, 'w-full sm:w-64')}
      >
        <option value={NONE}>Not mapped</option>
        {isGiven && <option value={RESET}>Automatic</option>}
        {[...new Set(headers)]
          .filter((header) => header !== '')
          .map((header) => (
            <option key={header} value={header}>
              {header}
            </option>
          ))}
      </select>
      {match !== null && (
        <span className={classNames('text-[13px]', match === 'guess' ? 'text-warn' : 'text-muted')}>
          {MATCH_WORDS[match]}
        </span>
      )}
      {column === null &&
        suggestions.map((header) => (
          <Button key={header} size="small" onClick={() => onChoose(field, header)}>
            Use “{header}”?
          </Button>
        ))}
    </li>
  );
}
