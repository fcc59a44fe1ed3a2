// Numbers, sizes and times for people. Intl formatters are created on first use: the first one of a page costs ten
// milliseconds or more of its load time.

/** With commas between thousands. */
export function formatCount(count: number): string {
  const [whole = '', part] = String(Number(count.toFixed(3))).split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3}){1,7}$)/g, ',');
  return part === undefined ? grouped : `${grouped}.${part}`;
}

const SHORT_UNITS = ['', 'K', 'M', 'B', 'T'];

/** 950, 1.2K, 13M: at most one decimal. */
export function formatShort(count: number): string {
  let unit = 0;
  let value = roundedTo(count, 1);
  // A value that rounds up to a thousand belongs to the next unit.
  while (Math.abs(value) >= 1000 && unit < SHORT_UNITS.length - 1) {
    unit += 1;
    value = roundedTo(count / 1000 ** unit, 1);
  }
  return `${formatCount(value)}${SHORT_UNITS[unit]}`;
}

/** Rounds halves away from zero, by the decimal notation of the number: 1.005 counts as a half. */
function roundedTo(value: number, digits: number): number {
  return (Math.sign(value) * Math.round(Number(`${Math.abs(value)}e${digits}`))) / 10 ** digits;
}

let exact: Intl.DateTimeFormat | undefined;

export function formatExact(time: string | Date): string {
  exact ??= new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  return exact.format(new Date(time));
}

/** Whole per cents. 0 % means none and 100 % means all. */
export function formatPercent(part: number): string {
  if (part > 0 && part < 0.005) return '<1 %';
  if (part < 1 && part >= 0.995) return '>99 %';
  return `${Math.round(part * 100)} %`;
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

/** 850 ms, 12 s, 4 min 10 s, 3 h 5 min, 2 d 4 h. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return join(minutes, 'min', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return join(hours, 'h', minutes % 60, 'min');
  return join(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** "just now", "5 min ago", "in 2 h". */
export function formatRelative(time: string | Date, nowMs: number): string {
  const ms = new Date(time).getTime() - nowMs;
  if (Math.abs(ms) < 5000) return 'just now';
  const text = coarse(Math.abs(ms));
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

function coarse(ms: number): string {
  const steps: [number, string][] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1000, 's'],
  ];
  const [size, unit] = steps.find(([step]) => ms >= step) ?? [1000, 's'];
  return `${Math.floor(ms / size)} ${unit}`;
}

/** Time left as a range: "4–6 min", "50 s – 2 min", "at least 4 min". */
export function formatTimeLeft(lowMs: number, highMs: number | null): string {
  const low = coarse(Math.max(0, lowMs));
  if (highMs === null) return `at least ${low}`;
  const high = coarse(Math.max(0, highMs));
  if (low === high) return `about ${high}`;
  const [count, unit] = low.split(' ');
  return high.endsWith(` ${unit}`) ? `${count}–${high}` : `${low} – ${high}`;
}

/** Rates below one per second are shown per minute or hour. Marks of an axis share the unit of the highest. */
export function formatRate(perSecond: number, unitOf = perSecond): string {
  if (perSecond === 0) return '0/s';
  if (unitOf >= 1 && perSecond < 1) return `${Number(perSecond.toPrecision(2))}/s`;
  if (perSecond >= 10) return `${formatCount(Math.round(perSecond))}/s`;
  if (perSecond >= 1) return `${perSecond.toFixed(1)}/s`;
  if (perSecond * 60 >= 1) return `${(perSecond * 60).toFixed(1)}/min`;
  return `${(perSecond * 3600).toFixed(1)}/h`;
}
