// Buttons: primary for the main action of a screen, plain and quiet for the rest, danger for destructive ones.
import type { ButtonHTMLAttributes, Ref } from 'react';
import { classNames } from '../lib/class-names.ts';

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'primary' | 'plain' | 'quiet' | 'danger';
  size?: 'normal' | 'small';
  ref?: Ref<HTMLButtonElement>;
}

const KINDS = {
  primary: 'bg-accent text-accent-text not-disabled:hover:brightness-110 border-transparent',
  plain: 'bg-surface text-text border-line not-disabled:hover:bg-sunken',
  quiet:
    'bg-transparent text-muted border-transparent not-disabled:hover:bg-sunken not-disabled:hover:text-text',
  danger: 'bg-surface text-bad border-line not-disabled:hover:bg-bad-soft',
};

export function buttonClass(
  kind: NonNullable<ButtonProps['kind']>,
  size: NonNullable<ButtonProps['size']>,
): string {
  return classNames(
    'inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap',
    // The title explains a disabled button, so the pointer must still reach it.
    'disabled:opacity-50 disabled:cursor-not-allowed',
    size === 'small' ? 'h-7 px-2 text-[13px]' : 'h-9 px-3.5',
    KINDS[kind],
  );
}

export function Button({
  kind = 'plain',
  size = 'normal',
  className,
  type = 'button',
  ...rest
}: ButtonProps) {
  return <button type={type} className={classNames(buttonClass(kind, size), className)} {...rest} />;
}
