// A value of a row as a cell shows it: always text.

export function cellText(record: unknown, key: string): string {
  if (record === null || typeof record !== 'object' || Array.isArray(record)) return '';
  const value = Object.hasOwn(record, key) ? (record as Record<string, unknown>)[key] : undefined;
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean);
}
