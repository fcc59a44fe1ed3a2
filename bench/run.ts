// The bench: Rowmill, its peers and raw COPY on one server, interleaved; best, median and worst of all rounds.
//   npm run bench -- [--quick] [--json] [--only=rowmill,copyLimit,files,pipelines,limits,counters,api,simulation]
// --quick takes under two minutes; --json prints one JSON object as the last line.
import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { measureApi } from './api.ts';
import { type Entry, entries } from './contestant.ts';
import { measureCounters } from './counters.ts';
import { measureFiles } from './files.ts';
import { measureLimits } from './limits.ts';
import { readServerFacts } from './measure.ts';
import {
  type Measurement,
  measureFinishLag,
  measureIdle,
  runScenario,
  type Scenario,
} from './run-scenario.ts';
import { measurePipelines } from './pipelines.ts';
import { openServer } from './server.ts';
import { formatSimulation, simulateProvider } from './simulation.ts';
import { pick, Rounds, type Spread, type Spreads } from './rounds.ts';
import { formatTable } from './table.ts';

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});

const plan = flags.quick
  ? {
      rounds: 1,
      drain: 120_000,
      others: 20_000,
      idleSeconds: 6,
      lagJobs: 20,
      files: { rounds: 1, csvRows: 200_000, xlsxRows: 50_000 },
      pipelines: { rounds: 1, phaseItems: 30_000, emittingItems: 2000, reprocessItems: 100_000 },
      simulation: { capacity: 50, latencyMs: 400, seeds: [701] },
      limits: { rounds: 1, items: 50_000, largeItems: 200_000, useMs: 3000 },
      counters: { contributions: 20_000, entities: 20_000, existing: 200_000, rounds: 20 },
      api: { rounds: 1, items: 100_000, useMs: 2000, pairs: 100 },
    }
  : {
      rounds: 3,
      drain: 200_000,
      others: 100_000,
      idleSeconds: 30,
      lagJobs: 200,
      files: { rounds: 2, csvRows: 1_000_000, xlsxRows: 500_000 },
      pipelines: { rounds: 3, phaseItems: 100_000, emittingItems: 10_000, reprocessItems: 1_000_000 },
      simulation: { capacity: 50, latencyMs: 400, seeds: [701, 702, 703] },
      limits: { rounds: 3, items: 200_000, largeItems: 1_000_000, useMs: 10_000 },
      counters: { contributions: 1_000_000, entities: 200_000, existing: 5_000_000, rounds: 100 },
      api: { rounds: 3, items: 1_000_000, useMs: 10_000, pairs: 500 },
    };

const scenarios: readonly Scenario[] = [
  { key: 'drain', itemCount: plan.drain, claimSize: null, workers: 1 },
  { key: 'drainSmallClaims', itemCount: plan.others, claimSize: 20, workers: 1 },
  { key: 'twoWorkers', itemCount: plan.drain, claimSize: null, workers: 2 },
];

const only = flags.only?.split(',');
/** Parts without contestants. */
const OWN_PARTS = ['files', 'pipelines', 'limits', 'counters', 'api', 'simulation'];

type PerContestant = Record<string, number | null>;
const KEYS = [
  'drain',
  'drainSmallClaims',
  'twoWorkers',
  'enqueue',
  'txPerItem',
  'deadTuplesPerItem',
  'finishLagMsP99',
  'idleQueriesPerSecond',
] as const;

const MEASURED_ONCE: readonly string[] = ['finishLagMsP99', 'idleQueriesPerSecond'];

const LABELS: Record<(typeof KEYS)[number], string> = {
  drain: 'drain, items/s',
  drainSmallClaims: 'drain, claims <= 20, items/s',
  twoWorkers: 'drain, two workers, items/s',
  enqueue: 'enqueue, items/s',
  txPerItem: 'transactions per item',
  deadTuplesPerItem: 'dead tuples per item',
  finishLagMsP99: 'finish lag p99, ms',
  idleQueriesPerSecond: 'idle statements per second',
};

const PIPELINE_LABELS: Record<string, string> = {
  phases3: 'three phases, items/s',
  emit: 'emitted children, half already known, per second',
  reprocessFailedMs: 'reopen the failed tenth, ms',
  reprocessFailedPerSecond: 'items/s',
  cancelFailedMs: 'cancel that run, ms',
  cancelFailedPerSecond: 'items/s',
  reprocessAllMs: 'reopen all items, ms',
  reprocessAllPerSecond: 'items/s',
  cancelAllMs: 'cancel that run, ms',
  cancelAllPerSecond: 'items/s',
};

const LIMIT_LABELS: Record<string, string> = {
  permitsPerSecond: 'calls through one resource, four processes, per second',
  limiterOverheadPerItemUs: 'overhead of a resource in one process, µs per item',
  fairnessSmallJobDelayMs: 'job of ten rows beside a large job, ms',
  rateUtilisation: 'share of a rate limit used by four processes',
  concurrencyUtilisation: 'share of a concurrency limit used by four processes',
};

const COUNTER_LABELS: Record<string, string> = {
  flushPerItemUs: 'flush of 50 rows without counters, µs per row',
  countingFlushPerItemUs: 'flush of 50 rows with a counter each, µs per row',
  counterOverheadPerItemUs: 'difference, µs per row',
  unnest50Ms: 'update of 50 entries with typed arrays, ms',
  case50Ms: 'with CASE, ms',
  whole50Ms: 'all counter work of a flush, ms',
  unnest500Ms: 'update of 500 entries with typed arrays, ms',
  case500Ms: 'with CASE, ms',
  whole500Ms: 'all counter work of a flush, ms',
  caseOfUnnest: 'CASE as a multiple of typed arrays, at 500',
  batchAmongFewMs: '50 contributions among few entities, ms',
  batchAmongManyMs: '50 contributions among many entities, ms',
  manyOfFew: 'many as a multiple of few',
};

const API_LABELS: Record<string, string> = {
  apiStatus: 'state of a running job, requests/s',
  apiStatusP99Ms: 'p99, ms',
  apiItemsPage: 'pages of 50 rows anywhere in a large job, requests/s',
  apiItemsPageP99Ms: 'p99, ms',
  deepPage: 'last page, as a multiple of the first',
};

const FILE_LABELS: Record<string, string> = {
  ingestCsv: 'CSV to items, rows/s',
  copyLimit: 'COPY of the same rows, rows/s',
  ingestOfLimit: 'share of COPY',
  ingestCsvPeakMb: 'peak memory, MB',
  exportCsv: 'results to CSV, rows/s',
  exportLimit: 'COPY of the same rows out, rows/s',
  exportOfLimit: 'share of COPY',
  exportCsvPeakMb: 'peak memory, MB',
  exportXlsx: 'results to XLSX, rows/s',
  exportXlsxPeakMb: 'peak memory, MB',
  exportJsonl: 'results to JSON lines, rows/s',
};

function chooseEntries(): Entry[] {
  const unknown = only?.find(
    (key) => !OWN_PARTS.includes(key) && !entries.some((entry) => entry.key === key),
  );
  if (unknown !== undefined) {
    throw new Error(
      `expected --only to name ${[...entries.map(({ key }) => key), ...OWN_PARTS].join(', ')}; got ${unknown}`,
    );
  }
  return entries.filter(
    ({ key, file }) =>
      (only === undefined || only.includes(key)) &&
      existsSync(new URL(`contestants/${file}`, import.meta.url)),
  );
}

function report(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** `drain` also gives the enqueue rate and the server's counters. */
function keep(rounds: Rounds, key: Scenario['key'], measured: Measurement): void {
  rounds.add(key, measured.itemsPerSecond, 'more');
  if (key !== 'drain') return;
  if (measured.enqueuedPerSecond !== null) rounds.add('enqueue', measured.enqueuedPerSecond, 'more');
  if (measured.txPerItem !== null) rounds.add('txPerItem', measured.txPerItem, 'less');
  if (measured.deadTuplesPerItem !== null)
    rounds.add('deadTuplesPerItem', measured.deadTuplesPerItem, 'less');
}

/** Measurements of each contestant, by key. */
async function runAll(serverUrl: string, chosen: readonly Entry[]): Promise<Map<string, Spreads>> {
  const rounds = new Map<string, Rounds>(chosen.map(({ key }) => [key, new Rounds()]));

  for (let round = 0; round < plan.rounds; round++) {
    for (const scenario of scenarios) {
      // Each round starts with a different contestant, so none always runs first or after the same neighbour.
      const turn = chosen.map((_, i) => chosen[(i + round) % chosen.length]!);
      for (const entry of turn) {
        if (entry.isLimit && scenario.key !== 'drain') continue;
        const itemCount = scenario.itemCount * entry.share;
        const measured = await runScenario(serverUrl, entry, { ...scenario, itemCount });
        keep(rounds.get(entry.key)!, scenario.key, measured);
        report(
          `round ${round + 1}/${plan.rounds} ${scenario.key} ${entry.key}: ${Math.round(measured.itemsPerSecond)} items/s`,
        );
      }
    }
  }

  const queues = chosen.filter(({ isLimit }) => !isLimit);
  const keepOnce = (entry: Entry, key: string, value: number | null): void => {
    if (value !== null) rounds.get(entry.key)!.add(key, value, 'less');
  };
  for (const entry of queues)
    keepOnce(entry, 'finishLagMsP99', await measureFinishLag(serverUrl, entry, plan.lagJobs));
  const idle: PerContestant = await measureIdle(serverUrl, queues, plan.idleSeconds);
  for (const entry of queues) keepOnce(entry, 'idleQueriesPerSecond', idle[entry.key] ?? null);
  return new Map([...rounds].map(([key, each]) => [key, each.spreads()]));
}

function printSpreads(labels: Record<string, string>, spreads: Spreads | null): void {
  if (!spreads) return;
  const rows = Object.entries(labels).map(([key, label]) => ({ label, values: { ...spreads[key] } }));
  console.log(`${formatTable(['best', 'median', 'worst'], rows)}\n`);
}

/** One row with the best value of each key; keys measured in rounds also get the median and the worst. */
function contestantRows(all: ReadonlyMap<string, Spreads>): Parameters<typeof formatTable>[1] {
  const values = (key: string, which: keyof Spread): PerContestant =>
    Object.fromEntries([...all].map(([name, spreads]) => [name, spreads[key]?.[which] ?? null]));
  return KEYS.flatMap((key) => [
    { label: LABELS[key], values: values(key, 'best') },
    ...(['median', 'worst'] as const)
      .filter(() => plan.rounds > 1 && !MEASURED_ONCE.includes(key))
      .map((which) => ({ label: `  ${which}`, values: values(key, which) })),
  ]);
}

const chosen = chooseEntries();
const startedMs = Date.now();
if (only === undefined || only.includes('simulation')) {
  const rows = await simulateProvider(plan.simulation, report);
  console.log(`${formatSimulation(rows)}\n`);
  if (only?.length === 1) {
    if (flags.json) console.log(JSON.stringify({ simulation: rows }));
    process.exit(0);
  }
}
const server = await openServer();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void server.stop().finally(() => process.exit(1)));
}
try {
  const facts = await readServerFacts(server.url);
  const files =
    only === undefined || only.includes('files') ? await measureFiles(server.url, plan.files, report) : null;
  const pipelines =
    only === undefined || only.includes('pipelines')
      ? await measurePipelines(server.url, plan.pipelines, report)
      : null;
  const limits =
    only === undefined || only.includes('limits')
      ? await measureLimits(server.url, plan.limits, report)
      : null;
  const counters =
    only === undefined || only.includes('counters')
      ? await measureCounters(server.url, plan.counters, report)
      : null;
  const api =
    only === undefined || only.includes('api') ? await measureApi(server.url, plan.api, report) : null;
  const results = await runAll(server.url, chosen);
  const columns = entries.filter((entry) => chosen.includes(entry)).map(({ key }) => key);
  const about = {
    node: process.version,
    postgres: facts.version,
    settings: facts.settings,
    cpus: cpus().length,
    drainItems: plan.drain,
    otherItems: plan.others,
    rounds: plan.rounds,
    seconds: Math.round((Date.now() - startedMs) / 1000),
  };
  printSpreads(FILE_LABELS, files);
  printSpreads(PIPELINE_LABELS, pipelines);
  printSpreads(COUNTER_LABELS, counters);
  printSpreads(LIMIT_LABELS, limits);
  printSpreads(API_LABELS, api);
  console.log(formatTable(columns, contestantRows(results)));
  console.log(
    `\n${about.rounds} rounds; ${about.drainItems} items (others ${about.otherItems}); PostgreSQL ${about.postgres}, ` +
      `synchronous_commit on; Node ${about.node}; ${about.cpus} cores; ${about.seconds} s; bullmq gets a twentieth of the items`,
  );
  if (flags.json) {
    // Keys hold Rowmill's best values, medians for counters. `drain` has all contestants, `spread` best, median and
    // worst.
    const all = Object.fromEntries(results);
    const drain = Object.fromEntries(entries.map(({ key }) => [key, all[key]?.drain?.best ?? null]));
    const spread = { ...files, ...pipelines, ...limits, ...counters, ...api };
    const best = {
      ...pick(all.rowmill ?? null, 'best'),
      ...pick(spread, 'best'),
      ...pick(counters, 'median'),
    };
    console.log(JSON.stringify({ ...best, drain, spread, all, about }));
  }
} finally {
  await server.stop();
}
