// Holds leases for a test that does not use them.
import type { LeaseHolder } from '../../src/worker/leases/lease.ts';

export const NO_HOLDER: LeaseHolder = {
  settled: () => {},
  lost: () => {},
  giveBack: () => {},
  paidInVain: () => {},
};
