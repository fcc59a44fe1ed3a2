// What may be spent, as owners of jobs say it.

export interface JobBudget {
  /** By the whole job, over all its generations. */
  max?: number | null;
  /** By one item, over all its calls. */
  perItem?: number | null;
}

/** A cost, or a part of a budget: not negative, and finite. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** What is wrong with it, in words; null: nothing. */
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

/** A budget that no call is charged to would hold nothing back. */
export function checkPays(
  pipeline: { name: string; phases: readonly { cost?: unknown }[] },
  budget: JobBudget | undefined,
): string | null {
  if (budget?.max == null && budget?.perItem == null) return null;
  if (pipeline.phases.some((phase) => phase.cost !== undefined)) return null;
  return `expected a phase of pipeline ${pipeline.name} to have a cost, because the job has a budget`;
}
