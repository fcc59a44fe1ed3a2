/**
 * Generates seeded bank transactions: most are fine, some are suspicious, and some are wrong in each of the ways found
 * in real batches. The generator knows how each of them has to end.
 */
import { seededSequence } from '../seeded-sequence.ts';

export interface TransactionRow {
  transaction_id: string;
  from_iban: string;
  to_iban: string;
  amount: string;
  currency: string;
  reference: string;
}

export type Fate =
  | 'clear'
  | 'review'
  | 'unknown'
  | 'own'
  | 'overLimit'
  | 'badIban'
  | 'badAmount'
  | 'badCurrency';

export interface KnownTransaction {
  row: TransactionRow;
  fate: Fate;
}

/** Expected status by fate, with the decision for DONE rows. */
export const ENDS: Record<Fate, { status: 'DONE' | 'ERROR' | 'NOT_FOUND' | 'SKIPPED'; decision?: string }> = {
  clear: { status: 'DONE', decision: 'clear' },
  review: { status: 'DONE', decision: 'review' },
  unknown: { status: 'NOT_FOUND' },
  own: { status: 'SKIPPED' },
  overLimit: { status: 'ERROR' },
  badIban: { status: 'ERROR' },
  badAmount: { status: 'ERROR' },
  badCurrency: { status: 'ERROR' },
};

const RATES: readonly [fate: Fate, rate: number][] = [
  ['review', 0.03],
  ['unknown', 0.02],
  ['own', 0.02],
  ['overLimit', 0.005],
  ['badIban', 0.01],
  ['badAmount', 0.005],
  ['badCurrency', 0.005],
];

/** Accounts at this bank do not exist, or not yet. */
export const UNKNOWN_BANK = '00000000';
/** The screening service considers amounts from here on suspicious. */
export const SUSPICIOUS_AMOUNT = 50_000;

export function* generateTransactions(rows: number, seed: number): Generator<KnownTransaction> {
  const random = seededSequence(seed);
  const digits = (count: number): string =>
    Array.from({ length: count }, () => Math.floor(random() * 10)).join('');
  for (let index = 0; index < rows; index += 1) {
    const fate = drawFate(random());
    const from = germanIban(`1${digits(7)}`, digits(10));
    const to = germanIban(fate === 'unknown' ? UNKNOWN_BANK : `2${digits(7)}`, digits(10));
    const amount =
      fate === 'overLimit'
        ? 2_000_000 + random() * 1e6
        : fate === 'review'
          ? SUSPICIOUS_AMOUNT + random() * 100_000
          : 0.01 + random() ** 3 * (SUSPICIOUS_AMOUNT - 1);
    const row: TransactionRow = {
      transaction_id: `T${String(index).padStart(9, '0')}`,
      from_iban: from,
      to_iban: fate === 'own' ? from : fate === 'badIban' ? swapTwo(to) : to,
      amount: fate === 'badAmount' ? `${amount.toFixed(0)},00 €` : amount.toFixed(2),
      currency: fate === 'badCurrency' ? 'EURO' : ['EUR', 'EUR', 'GBP', 'CHF'][Math.floor(random() * 4)]!,
      reference: ['invoice 4711', 'Miete März', 'salary, bonus', '=HYPERLINK("x")', ''][index % 5]!,
    };
    yield { row, fate };
  }
}

function drawFate(draw: number): Fate {
  let upTo = 0;
  for (const [fate, rate] of RATES) {
    upTo += rate;
    if (draw < upTo) return fate;
  }
  return 'clear';
}

function germanIban(bank: string, account: string): string {
  const check = 98n - (BigInt(`${bank}${account}131400`) % 97n);
  return `DE${String(check).padStart(2, '0')}${bank}${account}`;
}

/** Swaps two characters: the mistake that the checksum detects. */
function swapTwo(iban: string): string {
  for (let at = 4; at < iban.length - 1; at += 1) {
    const [first, second] = [iban[at]!, iban[at + 1]!];
    if (first !== second) return `${iban.slice(0, at)}${second}${first}${iban.slice(at + 2)}`;
  }
  return `${iban.slice(0, 2)}00${iban.slice(4)}`;
}
