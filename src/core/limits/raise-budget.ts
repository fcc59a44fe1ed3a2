// The budget to suggest when a job has reached its own: what was spent, and the rest at the average cost of a row so far.

export interface BudgetNeed {
  /** The budget that was reached. */
  max: number;
  spent: number;
  /** Part of it that the job itself has cost; other jobs may share the budget. */
  cost: number;
  /** Rows of the job that have ended, and rows that have not. */
  ended: number;
  left: number;
}

/** Always more than `max`, with two significant digits, rounded up: people read it and may change it. */
export function raiseBudget({ max, spent, cost, ended, left }: BudgetNeed): number {
  const perRow = ended > 0 ? cost / ended : 0;
  const needed = perRow > 0 ? spent + left * perRow : 0;
  // Nothing to go by: no row has ended, or the average says that the old budget was enough.
  const wanted = needed > max ? needed : Math.max(max, spent) * 2 || 1;
  return roundUp(wanted);
}

function roundUp(amount: number): number {
  const unit = 10 ** (Math.floor(Math.log10(amount)) - 1);
  // Through text: 30.000000000000004 is 30, and 3 times 0.1 is 0.3.
  return Number((Math.ceil(Number((amount / unit).toPrecision(9))) * unit).toPrecision(9));
}
