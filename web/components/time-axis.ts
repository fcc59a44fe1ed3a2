// Where a time axis begins and ends, and what its marks say.

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
/** Between marks of the time axis. */
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

/** A mark of a time axis whose marks are this far apart. */
export function timeMark(seconds: number, stepSeconds: number): string {
  const words = stepSeconds >= DAY_S ? calendar : stepSeconds >= MINUTE_S ? clock : exactClock;
  return words(new Date(seconds * 1000));
}

/** From the first to the last time. A single one has a second of its own: without, an axis goes from 1970 on. */
export function timeRange(times: readonly number[]): [number, number] {
  const first = times[0] ?? 0;
  return [first, Math.max(times.at(-1) ?? 0, first + 1)];
}
