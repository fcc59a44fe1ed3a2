// A button that opens a menu.
import { ChevronDown } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';
import { classNames } from '../lib/class-names.ts';
import { buttonClass } from './button.tsx';

/** Menus render inside the main landmark: screen readers hardly find content outside of landmarks. */
export const menuPlace = (): HTMLElement | null => document.getElementById('content');

export interface MenuProps {
  label: ReactNode;
  /** Accessible name, for a label that is only an icon. */
  name?: string;
  kind?: 'plain' | 'quiet';
  size?: 'normal' | 'small';
  /** Hides the arrow beside the label. */
  bare?: boolean;
  children: ReactNode;
}

export function Menu({ label, name, kind = 'plain', size = 'normal', bare = false, children }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger {...(name && { 'aria-label': name })} className={buttonClass(kind, size)}>
        {label} {!bare && <ChevronDown size={14} aria-hidden />}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={menuPlace()}>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          className="z-50 max-h-[min(70vh,var(--radix-dropdown-menu-content-available-height))] min-w-44 overflow-auto rounded-md border border-line bg-surface p-1 shadow-lg"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export const menuItemClass =
  'flex cursor-pointer items-center gap-2 rounded px-2.5 py-1.5 outline-none select-none data-[disabled]:opacity-50 data-[highlighted]:bg-sunken';

export interface MenuItemProps {
  onSelect?: () => void;
  disabled?: boolean;
  children: ReactNode;
  className?: string;
}

export function MenuItem({ onSelect, disabled = false, children, className }: MenuItemProps) {
  return (
    <DropdownMenu.Item
      disabled={disabled}
      onSelect={() => onSelect?.()}
      className={classNames(menuItemClass, className)}
    >
      {children}
    </DropdownMenu.Item>
  );
}

/** A menu item that is a link or a download. */
export function MenuLink({
  href,
  download = false,
  children,
}: {
  href: string;
  download?: boolean;
  children: ReactNode;
}) {
  return (
    <DropdownMenu.Item asChild className={menuItemClass}>
      <a href={href} {...(download && { download: true })}>
        {children}
      </a>
    </DropdownMenu.Item>
  );
}
