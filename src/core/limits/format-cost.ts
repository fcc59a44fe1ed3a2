// Costs as text, with their unit: the page and the command line show the same amount in the same words.

/** Currency codes are upper case; other units are words. */
const CURRENCY = /^[A-Z]{3}$/;

const formatters = new Map<string, Intl.NumberFormat>();

/**
 * €56.47, 1,204 tokens, 4.16 credits. A currency has its own number of decimals, tokens have none, other units have
 * two; whole amounts without a unit have none. Amounts below one keep two significant digits.
 */
export function formatCost(given: number, unit: string | null = null): string {
  // Sums of floating-point numbers leave a remainder: 4.999999999999998 is 5.
  const amount = Number(given.toPrecision(12));
  if (unit !== null && CURRENCY.test(unit)) return formatMoney(amount, unit);
  const decimals = unit === 'tokens' || (unit === null && Number.isInteger(amount)) ? 0 : 2;
  const text = decimal(amount, decimals, unit === null ? 0 : decimals);
  return unit === null ? text : `${text} ${unit}`;
}

function formatMoney(amount: number, currency: string): string {
  const formatter = formatterOf(currency);
  const decimals = formatter.resolvedOptions().maximumFractionDigits ?? 2;
  const needed = decimalsFor(amount, decimals);
  return (needed > decimals ? formatterOf(currency, needed) : formatter).format(amount);
}

function formatterOf(currency: string, decimals?: number): Intl.NumberFormat {
  const key = `${currency} ${decimals ?? ''}`;
  const known = formatters.get(key);
  if (known) return known;
  const made = new Intl.NumberFormat('en-US', {
    style: 'currency',
    currency,
    ...(decimals !== undefined && { maximumFractionDigits: decimals }),
  });
  formatters.set(key, made);
  return made;
}

/** Without Intl, whose first formatter costs a page ten milliseconds or more. Small amounts have `least` decimals. */
function decimal(amount: number, decimals: number, least: number): string {
  const isSmall = Math.abs(amount) < 1;
  const [whole = '', part = ''] = rounded(amount, decimalsFor(amount, decimals)).split('.');
  const grouped = whole.replace(/\B(?=(?:\d{3}){1,7}$)/g, ',');
  const kept = isSmall ? part.replace(/0{1,30}$/, '').padEnd(least, '0') : part;
  return kept === '' ? grouped : `${grouped}.${kept}`;
}

/** Decimals that show two significant digits of an amount below one, and at least `decimals`. */
function decimalsFor(amount: number, decimals: number): number {
  const size = Math.abs(amount);
  if (size === 0 || size >= 1) return decimals;
  return Math.min(20, Math.max(decimals, 1 - Math.floor(Math.log10(size))));
}

/** Halves away from zero, by the decimal notation of the number: 1.005 counts as a half. */
function rounded(amount: number, decimals: number): string {
  const scaled = Number(`${amount}e${decimals}`);
  if (Number.isNaN(scaled)) return amount.toFixed(decimals);
  return ((Math.sign(scaled) * Math.round(Math.abs(scaled))) / 10 ** decimals).toFixed(decimals);
}
