// Days as somebody picks them, as the times between which something happened, in the time zone of the reader.

export function timeRange(from: string | undefined, to: string | undefined): { from?: string; to?: string } {
  const start = startOfDay(from, 0);
  const end = startOfDay(to, 1);
  return { ...(start && { from: start }), ...(end && { to: end }) };
}

/** Of this day, or of one so many days later. */
function startOfDay(day: string | undefined, later: number): string | null {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '');
  if (!match) return null;
  const [, year, month, date] = match.map(Number) as [number, number, number, number];
  const time = new Date(year, month - 1, date + later);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
