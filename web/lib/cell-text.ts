// Text of a field of a row; objects are shown as JSON.

export function cellText(record: unknown, key: string): string {
  if (record === null || typeof record !== 'object' || Array.isArray(record)) return '';
  const value = Object.hasOwn(record, key) ? (record as Record<string, unknown>)[key] : undefined;
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean);
}
