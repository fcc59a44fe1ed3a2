// A checkbox with its label and an optional hint.
import { type InputHTMLAttributes, type ReactNode, useId } from 'react';
import { classNames } from '../lib/class-names.ts';

export const checkBoxClass = 'size-4 shrink-0 cursor-pointer accent-accent disabled:cursor-default';

export interface CheckFieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'type'> {
  label: ReactNode;
  hint?: ReactNode;
}

export function CheckField({ label, hint, className, ...rest }: CheckFieldProps) {
  const id = useId();
  return (
    <div className={classNames('flex items-start gap-2', className)}>
      <input
        type="checkbox"
        id={id}
        className={classNames(checkBoxClass, 'mt-0.5')}
        {...(hint !== undefined && { 'aria-describedby': `${id}-hint` })}
        {...rest}
      />
      <div className="min-w-0">
        <label htmlFor={id} className={classNames('cursor-pointer', hint !== undefined && 'font-medium')}>
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-[13px] text-muted">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
