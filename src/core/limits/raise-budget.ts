// Suggests a new budget for a job that reached its own: the spent amount plus the remaining rows at the average cost.

export interface BudgetNeed {
  /** The budget that was reached. */
  max: number;
  spent: number;
  /** The part of `spent` caused by this job; other jobs may share the budget. */
  cost: number;
  /** Rows of the job with a result, and rows without one. */
  ended: number;
  left: number;
}

/** Always more than `max`, rounded up to two significant digits, because people read and edit it. */
export function raiseBudget({ max, spent, cost, ended, left }: BudgetNeed): number {
  const perRow = ended > 0 ? cost / ended : 0;
  const needed = perRow > 0 ? spent + left * perRow : 0;
  // Without a finished row, or if by the average the old budget was enough, double it.
  const wanted = needed > max ? needed : Math.max(max, spent) * 2 || 1;
  return roundUp(wanted);
}

function roundUp(amount: number): number {
  const unit = 10 ** (Math.floor(Math.log10(amount)) - 1);
  // Rounds through text, so that 30.000000000000004 becomes 30 and 3 × 0.1 becomes 0.3.
  return Number((Math.ceil(Number((amount / unit).toPrecision(9))) * unit).toPrecision(9));
}
