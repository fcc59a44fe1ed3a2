import { expect, test } from 'vitest';
import { ExclusiveTurns, type Turn, type TurnKind } from './exclusive-turns.ts';

/** Requests a turn of each kind, in this order, and records the granted ones. */
function take(turns: ExclusiveTurns, kinds: TurnKind[]): { granted: TurnKind[]; held: Map<TurnKind, Turn> } {
  const granted: TurnKind[] = [];
  const held = new Map<TurnKind, Turn>();
  for (const kind of kinds)
    void turns.take(kind).then((turn) => {
      granted.push(kind);
      held.set(kind, turn);
    });
  return { granted, held };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('ordinary leases run beside suspects, and further suspects are not offered a turn', async () => {
  const turns = new ExclusiveTurns();
  const { granted, held } = take(turns, ['suspects', 'ordinary', 'ordinary']);
  await settle();
  expect(granted).toEqual(['suspects', 'ordinary', 'ordinary']);
  expect(turns.offers('suspects')).toBe(false);
  expect(turns.isAlone).toBe(false);
  held.get('suspects')!.end();
  expect(turns.offers('suspects')).toBe(true);
});

test('a lease that must run alone waits for all others, and later ones wait for it', async () => {
  const seen: boolean[] = [];
  const turns: ExclusiveTurns = new ExclusiveTurns(() => seen.push(turns.isAlone));
  const { granted, held } = take(turns, ['suspects', 'alone', 'ordinary']);
  await settle();
  expect(granted).toEqual(['suspects']);
  expect([turns.isAlone, turns.offers('alone'), turns.offers('suspects')]).toEqual([true, false, false]);
  held.get('suspects')!.end();
  await settle();
  expect(granted).toEqual(['suspects', 'alone']);
  held.get('alone')!.end();
  held.get('alone')!.end();
  await settle();
  expect(granted).toEqual(['suspects', 'alone', 'ordinary']);
  expect(turns.isAlone).toBe(false);
  expect(seen).toEqual([true, false]);
});

test('every turn is granted once the worker stops', async () => {
  const turns = new ExclusiveTurns();
  const { granted } = take(turns, ['ordinary', 'alone', 'ordinary']);
  turns.stop();
  await settle();
  expect(granted).toEqual(['ordinary', 'alone', 'ordinary']);
});
