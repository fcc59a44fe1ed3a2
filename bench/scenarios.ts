// The scenarios of the contestants: how many items, in which form, and what else happens during the drain.
import type { Entry } from './contestant.ts';
import { type Payload, SMALLEST } from './payload.ts';

export interface Scenario {
  key: string;
  label: string;
  itemCount: number;
  payload: Payload;
  claimSize: number | null;
  workers: number;
  /** Finished items in the database before the drain. */
  history: number;
  /** An old snapshot stays open during the drain, so that no dead row version is removed. */
  holdsSnapshot: boolean;
  /** Readers of pages during the drain. */
  readers: number;
  takesPart: (entry: Entry) => boolean;
}

export interface ScenarioPlan {
  drain: number;
  /** Items of a drain in which the start of the worker counts. */
  start: number;
  others: number;
  /** Items with results of 1 kB. */
  large: number;
  /** Items of a drain that lasts, for effects that need time. */
  long: number;
  history: number;
  /** Peers take part wherever they can, not only in the plain drain and in small claims. */
  allPeers: boolean;
}

const everyone = (): boolean => true;
const queues = ({ isLimit }: Entry): boolean => !isLimit;
const sameTables = ({ key }: Entry): boolean => key === 'rowmill' || key === 'bareLoop';
const rowmill = ({ key }: Entry): boolean => key === 'rowmill';

export function planScenarios(plan: ScenarioPlan): Scenario[] {
  const { drain, start, others, large, long, history, allPeers } = plan;
  const peers = allPeers ? queues : rowmill;
  const usual = {
    itemCount: drain,
    payload: SMALLEST,
    claimSize: null,
    workers: 1,
    history: 0,
    holdsSnapshot: false,
    readers: 0,
    takesPart: rowmill,
  };
  return [
    { ...usual, key: 'drain', label: 'drain, items/s', takesPart: everyone },
    {
      ...usual,
      key: 'drainStart',
      label: 'short drain, items/s',
      itemCount: start,
      takesPart: sameTables,
    },
    {
      ...usual,
      key: 'drainSmallClaims',
      label: 'drain, claims <= 20, items/s',
      itemCount: others,
      claimSize: 20,
      takesPart: queues,
    },
    { ...usual, key: 'twoWorkers', label: 'drain, two workers, items/s', workers: 2, takesPart: peers },
    {
      ...usual,
      key: 'drainLarge',
      label: 'drain, results of 1 kB, items/s',
      itemCount: large,
      payload: { ...SMALLEST, inputBytes: 50, resultBytes: 1000 },
      takesPart: (entry) => peers(entry) || sameTables(entry),
    },
    { ...usual, key: 'fourWorkers', label: 'drain, four workers, items/s', workers: 4 },
    {
      ...usual,
      key: 'drain50Bytes',
      label: 'drain, results of 50 B, items/s',
      payload: { ...SMALLEST, inputBytes: 50, resultBytes: 50 },
      takesPart: sameTables,
    },
    {
      ...usual,
      key: 'drainFailures',
      label: 'drain, 30 % failures, items/s',
      payload: { ...SMALLEST, failingPercent: 30 },
      takesPart: sameTables,
    },
    {
      ...usual,
      key: 'drainWithLogs',
      label: 'drain with three log lines per item, items/s',
      payload: { ...SMALLEST, logLines: 3 },
    },
    {
      ...usual,
      key: 'drainWithHeldXmin',
      label: 'drain with an old snapshot, items/s',
      itemCount: long,
      holdsSnapshot: true,
    },
    {
      ...usual,
      key: 'drainWithReaders',
      label: 'drain with 20 readers, items/s',
      itemCount: long,
      readers: 20,
    },
    { ...usual, key: 'history', label: 'drain after a long history, items/s', history },
  ];
}
