// Holds leases of a test that does not ask what becomes of them.
import type { LeaseHolder } from '../../src/worker/leases/lease.ts';

export const NO_HOLDER: LeaseHolder = {
  settled: () => {},
  lost: () => {},
  giveBack: () => {},
  paidInVain: () => {},
};
