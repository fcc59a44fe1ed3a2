import { describe, expect, it } from 'vitest';
import { NO_HOLDER } from '../../../test/support/lease-holder.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { sumBytes } from '../flush/count-outcomes.ts';
import { Lease } from './lease.ts';

function leaseOf(count: number): Lease {
  const items = Array.from({ length: count }, (_, seq) => ({ seq, input: '{}', previous: null }));
  return new Lease({ items } as unknown as Claim, 1000, NO_HOLDER);
}

function done(seq: number): RecordedOutcome {
  return { seq, kind: 'terminal', status: 'DONE', json: '{}', failure: null, delayMs: 0, handlerMs: 1 };
}

const seqsOf = (outcomes: readonly RecordedOutcome[]): number[] => outcomes.map(({ seq }) => seq);

describe('a lease', () => {
  it('is settled when every item is recorded or given up, and every outcome is flushed', () => {
    const lease = leaseOf(3);
    expect([lease.record(done(0)), lease.record(done(1))]).toEqual([true, true]);
    lease.drop(1);
    expect(lease).toMatchObject({ openCount: 0, hasItemsToReturn: true, canFlush: true, isSettled: false });
    lease.takePending(10);
    expect(lease).toMatchObject({ canFlush: false, isSettled: false });
    lease.endFlush([]);
    expect(lease.isSettled).toBe(true);
  });

  it('takes part in one flush at a time, with as many outcomes as fit', () => {
    const lease = leaseOf(5);
    for (const seq of [0, 1, 2, 3]) lease.record(done(seq));
    const first = lease.takePending(3);
    expect(seqsOf(first.outcomes)).toEqual([0, 1, 2]);
    expect(first.bytes).toBe(sumBytes(first.outcomes));
    lease.record(done(4));
    expect(lease.canFlush).toBe(false);
    lease.endFlush([]);
    expect(lease.canFlush).toBe(true);
    const second = lease.takePending(3);
    expect(seqsOf(second.outcomes)).toEqual([3, 4]);
    expect(second.bytes).toBe(sumBytes(second.outcomes));
  });

  it('gets back outcomes that a flush could not write, ahead of newer ones', () => {
    const lease = leaseOf(3);
    lease.record(done(0));
    const { outcomes: taken } = lease.takePending(10);
    lease.record(done(1));
    lease.endFlush(taken);
    expect(seqsOf(lease.pending)).toEqual([0, 1]);
    const again = lease.takePending(10);
    expect(again.bytes).toBe(sumBytes(again.outcomes));
  });

  it('accepts no new or returned outcome once it is lost', () => {
    const lease = leaseOf(4);
    lease.record(done(0));
    const { outcomes: taken } = lease.takePending(10);
    lease.record(done(1));
    expect(seqsOf(lease.lose())).toEqual([1]);
    expect(lease.record(done(2))).toBe(false);
    lease.endFlush(taken);
    expect(lease.pending).toEqual([]);
    lease.drop(1);
    expect(lease).toMatchObject({ isLost: true, isSettled: true });
  });
});
