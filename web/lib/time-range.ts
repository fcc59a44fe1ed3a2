// Turns picked days into a time range in the user's time zone; the last day is included.

export function timeRange(from: string | undefined, to: string | undefined): { from?: string; to?: string } {
  const start = startOfDay(from, 0);
  const end = startOfDay(to, 1);
  return { ...(start && { from: start }), ...(end && { to: end }) };
}

/** Midnight of the day, plus a number of days. */
function startOfDay(day: string | undefined, later: number): string | null {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '');
  if (!match) return null;
  const [, year, month, date] = match.map(Number) as [number, number, number, number];
  const time = new Date(year, month - 1, date + later);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
