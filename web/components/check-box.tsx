// A box to tick, with its words beside it.
import type { InputHTMLAttributes, ReactNode } from 'react';
import { classNames } from '../lib/class-names.ts';

export const checkBoxClass = 'size-4 shrink-0 cursor-pointer accent-accent disabled:cursor-default';

export interface CheckBoxProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'type'> {
  children: ReactNode;
}

export function CheckBox({ children, className, ...rest }: CheckBoxProps) {
  return (
    <label className={classNames('flex cursor-pointer items-start gap-2', className)}>
      <input type="checkbox" className={classNames(checkBoxClass, 'mt-0.5')} {...rest} />
      <span>{children}</span>
    </label>
  );
}
