// The sizes of all measurements. The quick plan proves that they work and shows large changes; numbers to keep come
// from the full one.

export const QUICK = {
  rounds: 1,
  scenarios: {
    drain: 120_000,
    start: 40_000,
    others: 20_000,
    large: 60_000,
    long: 300_000,
    history: 200_000,
    allPeers: false,
  },
  idleSeconds: 6,
  lagJobs: 20,
  files: { rounds: 1, csvRows: 200_000, xlsxRows: 50_000 },
  pipelines: { rounds: 1, phaseItems: 30_000, emittingItems: 2000, reprocessItems: 100_000 },
  simulation: { capacity: 50, latencyMs: 400, seeds: [701] },
  limits: { rounds: 1, items: 50_000, largeItems: 200_000, useMs: 3000 },
  counters: { contributions: 20_000, entities: 20_000, existing: 200_000, rounds: 20 },
  api: { rounds: 1, items: 100_000, useMs: 2000, pairs: 100 },
  slope: { rounds: 1, itemCounts: [100_000, 200_000, 400_000] },
};

export const FULL: typeof QUICK = {
  rounds: 3,
  scenarios: {
    drain: 1_000_000,
    start: 200_000,
    others: 100_000,
    large: 100_000,
    long: 1_000_000,
    history: 5_000_000,
    allPeers: true,
  },
  idleSeconds: 30,
  lagJobs: 200,
  files: { rounds: 2, csvRows: 1_000_000, xlsxRows: 500_000 },
  pipelines: { rounds: 3, phaseItems: 100_000, emittingItems: 10_000, reprocessItems: 1_000_000 },
  simulation: { capacity: 50, latencyMs: 400, seeds: [701, 702, 703] },
  limits: { rounds: 3, items: 200_000, largeItems: 1_000_000, useMs: 10_000 },
  counters: { contributions: 1_000_000, entities: 200_000, existing: 5_000_000, rounds: 100 },
  api: { rounds: 3, items: 1_000_000, useMs: 10_000, pairs: 500 },
  slope: { rounds: 3, itemCounts: [200_000, 1_000_000, 2_000_000] },
};
