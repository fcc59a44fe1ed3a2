// Something that is on or off, with what that means.
import { type InputHTMLAttributes, type ReactNode, useId } from 'react';

export interface CheckFieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'id' | 'type'> {
  label: ReactNode;
  hint?: ReactNode;
}

export function CheckField({ label, hint, ...rest }: CheckFieldProps) {
  const id = useId();
  return (
    <div className="flex items-start gap-2">
      <input
        type="checkbox"
        id={id}
        className="mt-0.5 size-4 shrink-0 accent-accent"
        {...(hint !== undefined && { 'aria-describedby': `${id}-hint` })}
        {...rest}
      />
      <div>
        <label htmlFor={id} className="font-medium">
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
