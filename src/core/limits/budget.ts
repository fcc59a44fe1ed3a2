// The budget of a job as its owner sets it, and its validation.

export interface JobBudget {
  /** Maximum cost of the whole job, over all generations. */
  max?: number | null;
  /** Maximum cost of one item, over all its calls. */
  perItem?: number | null;
}

/** True for a finite number of at least 0. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** The error message; null if the budget is valid. */
export function checkBudget(budget: unknown): string | null {
  if (budget === null || typeof budget !== 'object' || Array.isArray(budget))
    return `expected budget to be an object such as { max: 5, perItem: 0.1 }, got ${JSON.stringify(budget) ?? typeof budget}`;
  for (const [key, value] of Object.entries(budget)) {
    if (key !== 'max' && key !== 'perItem') return `expected budget to have max and perItem, got ${key}`;
    if (value !== undefined && value !== null && !isAmount(value))
      return `expected ${key} of the budget to be a number from 0, got ${typeof value === 'number' ? value : JSON.stringify(value)}`;
  }
  return null;
}

/** The error message if no phase has a cost: then the budget would limit nothing. */
export function checkPays(
  pipeline: { name: string; phases: readonly { cost?: unknown }[] },
  budget: JobBudget | undefined,
): string | null {
  if (budget?.max == null && budget?.perItem == null) return null;
  if (pipeline.phases.some((phase) => phase.cost !== undefined)) return null;
  return `expected a phase of pipeline ${pipeline.name} to have a cost, because the job has a budget`;
}
