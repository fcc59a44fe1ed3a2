// Classes from parts that may be missing; later ones win over earlier ones of the same kind.
import { type ClassValue, clsx } from 'clsx';
import { twMerge } from 'tailwind-merge';

export function classNames(...parts: ClassValue[]): string {
  return twMerge(clsx(parts));
}
