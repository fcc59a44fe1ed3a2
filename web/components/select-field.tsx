// A select with its label.
import type { ReactNode, SelectHTMLAttributes } from 'react';
import { classNames } from '../lib/class-names.ts';
import { Field, inputClass } from './field.tsx';

export interface SelectFieldProps extends Omit<SelectHTMLAttributes<HTMLSelectElement>, 'id' | 'children'> {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | undefined;
  choices: readonly (readonly [value: string, words: string])[];
}

export function SelectField({ label, hint, error, choices, className, ...rest }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <select {...ids} className={classNames(inputClass, className)} {...rest}>
          {choices.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
