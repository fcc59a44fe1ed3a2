// Admission for tests of pools: every item may start.
import type { ErrorSpike } from '../../src/core/limits/error-spike.ts';
import type { Admission } from '../../src/worker/admission/admission.ts';
import { PhaseAdmission } from '../../src/worker/admission/phase-admission.ts';

export function freeAdmission(options: {
  slots: number;
  itemsPerCall?: number;
  pressure?: { readonly factor: number };
  spike?: ErrorSpike;
}): Admission {
  return new PhaseAdmission({
    needs: { isUniform: true, version: () => 0, isFree: () => true, fill: () => {}, refresh: () => {} },
    slots: options.slots,
    itemsPerCall: options.itemsPerCall ?? 1,
    pressure: options.pressure ?? { factor: 1 },
    spike: options.spike ?? null,
  });
}
