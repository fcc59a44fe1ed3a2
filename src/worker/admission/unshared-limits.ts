// Limits of a process without a database: a call takes no permits and no budget, but its cost is estimated.
import { PhaseAdmission } from './phase-admission.ts';
import { PhaseNeeds } from './phase-needs.ts';
import type { WorkerLimits } from './worker-limits.ts';

const NO_PERMITS = {
  version: 0,
  permits: (): never => {
    throw new Error('no phase has resources here');
  },
};
const NO_BUDGETS = { version: 0, budgetOf: () => null };

export const UNSHARED_LIMITS: Pick<WorkerLimits, 'admissionTo'> = {
  admissionTo: ({ strategies }, phase, slots) =>
    new PhaseAdmission({
      needs: new PhaseNeeds(NO_PERMITS, NO_BUDGETS, { ...phase, resources: [] }, strategies),
      slots,
      itemsPerCall: phase.batch?.maxItems ?? 1,
      pressure: { factor: 1 },
      spike: null,
    }),
};
