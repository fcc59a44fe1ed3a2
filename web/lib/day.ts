// Days in UTC, as budgets and usage count them: 2026-01-31.

const DAY_MS = 86_400_000;

export function dayAt(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export function addDays(day: string, days: number): string {
  return dayAt(Date.parse(day) + days * DAY_MS);
}
