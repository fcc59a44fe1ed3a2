// Joins class names; later Tailwind classes override earlier ones of the same kind.
import { type ClassValue, clsx } from 'clsx';
import { twMerge } from 'tailwind-merge';

export function classNames(...parts: ClassValue[]): string {
  return twMerge(clsx(parts));
}
