import { beforeEach, describe, expect, it } from 'vitest';
import { NO_HOLDER } from '../../../test/support/lease-holder.ts';
import { NO_LIMITS, OWNER_RESOURCE } from '../../core/limits/resource-limits.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import { Lease } from '../leases/lease.ts';
import type { AdmittedItem } from './admission.ts';
import { ItemQueue } from './item-queue.ts';
import { KeyPermits } from './key-permits.ts';

let version: number;
let keys: Map<string, KeyPermits>;
let queue: ItemQueue;

/** The input of an item lists its needs, such as "api" or "@owner alice, host a". */
function openQueue(isUniform: boolean, maxHeldBack = 1000): void {
  version = 0;
  keys = new Map();
  const refresh = (item: AdmittedItem): void => {
    const { input } = item.claimed;
    item.permits = input === '' ? null : input.split(', ').map(permitsOf);
  };
  queue = new ItemQueue({
    needs: {
      isUniform,
      version: () => version,
      isFree: ({ claim }) => claim.items.every(({ input }) => input === ''),
      fill: refresh,
      refresh,
    },
    maxHeldBack,
  });
}

function permitsOf(id: string): KeyPermits {
  const [name, key = ''] = id.split(' ') as [string, string?];
  const known = keys.get(id);
  if (known) return known;
  const permits = new KeyPermits(name, key, NO_LIMITS, {
    onChange: () => {
      version += 1;
    },
    onWant: () => {},
  });
  keys.set(id, permits);
  return permits;
}

function grant(id: string, held: number): void {
  permitsOf(id).apply({ held, starts: null, stopped: null }, 0, 0, 1_000_000);
}

function add(ownerId: string, inputs: string[], weight = 1, jobId = ownerId): Lease {
  const items = inputs.map((input, seq) => ({ seq, input, previous: null }));
  const owner = { ownerId, weight, maxInFlight: null };
  const claim = { jobId, items, owner, priority: 0 } as unknown as Claim;
  const lease = new Lease(claim, 1000, NO_HOLDER);
  queue.add(lease);
  return lease;
}

/** Takes and starts up to `count` items. Returns their owners. */
function take(count: number): string[] {
  const taken: string[] = [];
  while (taken.length < count) {
    const item = queue.take(1);
    if (!item) break;
    for (const permits of item.permits ?? []) permits.start(1);
    taken.push(item.lease.claim.owner.ownerId);
  }
  return taken;
}

const times = (input: string, count: number): string[] => Array.from({ length: count }, () => input);

beforeEach(() => openQueue(true));

describe('owners', () => {
  it('take turns by weight', () => {
    add('a', times('', 20));
    add('b', times('', 20), 3);
    const taken = take(16);
    expect(taken.filter((owner) => owner === 'a')).toHaveLength(4);
    expect(take(100)).toHaveLength(24);
    expect(queue).toMatchObject({ size: 0, ownerCount: 0 });
  });

  it('take turns by weight even if permits arrive one at a time', () => {
    add('a', times('api', 40));
    add('b', times('api', 40), 3);
    expect(take(1)).toEqual([]);
    const taken: string[] = [];
    for (let held = 1; held <= 40; held += 1) {
      grant('api', held);
      taken.push(...take(10));
    }
    expect(taken).toHaveLength(40);
    expect(taken.filter((owner) => owner === 'a')).toHaveLength(10);
  });

  it('at their limit of items in flight do not block other owners or further claims', () => {
    add('full', times('@owner full', 50));
    add('free', times('', 50));
    expect(take(100)).toEqual(times('free', 50));
    expect(queue.blockedCount).toBe(50);
    expect(queue.blockedOf('full')).toBe(50);
    grant('@owner full', 2);
    expect(take(100)).toEqual(['full', 'full']);
  });
});

describe('an item that has to wait', () => {
  it('is bypassed by items with other keys, and goes first when its permit arrives', () => {
    openQueue(false);
    add('a', [...times('host hot', 30), 'host other']);
    grant('host other', 1);
    expect(take(5)).toEqual(['a']);
    expect(queue.heldBackCount).toBe(30);
    grant('host hot', 1);
    expect(queue.take(1)?.claimed.seq).toBe(0);
  });

  it('registers its demand immediately, until no item needs its key', () => {
    openQueue(false);
    const lease = add('a', times('host hot', 3));
    take(1);
    expect(permitsOf('host hot').isIdle).toBe(false);
    queue.tellDemand(0, 1);
    expect([...permitsOf('host hot').demands.values()]).toMatchObject([{ items: 3, slots: 1 }]);
    expect([...queue.drop(new Set([lease])).values()]).toEqual([[0, 1, 2]]);
    queue.tellDemand(0, 1);
    expect(permitsOf('host hot').isIdle).toBe(true);
    expect(queue).toMatchObject({ size: 0, heldBackCount: 0, ownerCount: 0 });
  });

  it('gets new permits if one of its keys was forgotten while it waited', () => {
    openQueue(false);
    add('a', ['api, host x']);
    take(1);
    keys.delete('host x');
    grant('host x', 1);
    grant('api', 1);
    expect(take(1)).toEqual(['a']);
  });

  it('reports the limit it waits for and when it may start', () => {
    openQueue(false);
    add('a', [...times('host hot', 3), '@owner a']);
    take(1);
    expect(queue.waits(1)).toEqual([
      { reason: 'limit of resource host hot', items: 3, startInMs: null },
      { reason: 'owner a is at its limit of items in flight', items: 1, startInMs: null },
    ]);
  });

  it('at the tail of a long line goes back to the database, and short lines stay', () => {
    openQueue(false, 100);
    add('a', [...times('host hot', 90), ...Array.from({ length: 20 }, (_, n) => `host ${n}`)]);
    take(1);
    expect(queue.heldBackCount).toBe(100);
    expect(queue.hasMoreToSee).toBe(false);
    expect(queue.dropLongestWait()).toMatchObject({ before: 22, items: { length: 68 } });
    expect(queue.dropLongestWait()).toBeNull();
    expect(queue).toMatchObject({ size: 42, hasMoreToSee: true });
  });
});

it('a runMany call takes items of the same job, within the per-item limit', () => {
  add('a', times('@owner a', 10));
  grant('@owner a', 3);
  const first = queue.take(1)!;
  const permits = first.permits![0]!;
  permits.start(1);
  let items = 1;
  for (let next = queue.takeLike(first, 1); next; next = queue.takeLike(first, 1)) {
    permits.start(1);
    items += 1;
  }
  expect(items).toBe(3);
  expect(permits.isPerItem).toBe(permits.name === OWNER_RESOURCE);
});
