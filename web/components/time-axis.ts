// Range and labels of a time axis.

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
/** Allowed distances between marks. */
export const TIME_STEPS_S = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE_S),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR_S),
  ...[1, 2, 7, 14, 30, 90, 365].map((count) => count * DAY_S),
];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

const digits = (parts: number[]): string => parts.map((part) => String(part).padStart(2, '0')).join(':');
const clock = (time: Date): string => digits([time.getHours(), time.getMinutes()]);
const exactClock = (time: Date): string => digits([time.getHours(), time.getMinutes(), time.getSeconds()]);
const calendar = (time: Date): string => `${time.getDate()} ${MONTHS[time.getMonth()]}`;

/** Label of a mark; the distance between marks decides its precision. */
export function timeMark(seconds: number, stepSeconds: number): string {
  const words = stepSeconds >= DAY_S ? calendar : stepSeconds >= MINUTE_S ? clock : exactClock;
  return words(new Date(seconds * 1000));
}

/**
 * From the first to the last time. A single time gets a range of one second: otherwise the axis would begin in 1970.
 */
export function timeRange(times: readonly number[]): [number, number] {
  const first = times[0] ?? 0;
  return [first, Math.max(times.at(-1) ?? 0, first + 1)];
}
