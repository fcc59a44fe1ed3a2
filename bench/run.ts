// The bench: Rowmill, its peers and its limits on one server, interleaved; best, median and worst of all rounds.
//   npm run bench -- [--quick] [--json] [--only=rowmill,bareLoop,drainLarge,files,slope,...]
// --only names contestants (contestant.ts), scenarios (scenarios.ts) and other parts (choose.ts). --quick takes two
// and a half minutes; --json prints one JSON object as the last line.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { measureApi } from './api.ts';
import { choose } from './choose.ts';
import { measureCounters } from './counters.ts';
import { measureFiles } from './files.ts';
import {
  API_LABELS,
  COUNTER_LABELS,
  FILE_LABELS,
  LIMIT_LABELS,
  PIPELINE_LABELS,
  SLOPE_LABELS,
} from './labels.ts';
import { measureLimits } from './limits.ts';
import { readServerFacts } from './measure.ts';
import { measurePipelines } from './pipelines.ts';
import { FULL, QUICK } from './plan.ts';
import { formatContestants, formatSpreads, toJson } from './report.ts';
import type { Spreads } from './rounds.ts';
import { runContestants } from './run-contestants.ts';
import { planScenarios } from './scenarios.ts';
import { openServer } from './server.ts';
import { formatSimulation, simulateProvider } from './simulation.ts';
import { measureSlope } from './slope.ts';

const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});

function report(text: string): void {
  process.stderr.write(`${text}\n`);
}

const startedMs = Date.now();
const plan = flags.quick ? QUICK : FULL;
// Peers that are named take part in all scenarios, in a quick run too.
const allPeers = plan.scenarios.allPeers || flags.only !== undefined;
const chosen = choose(flags.only, flags.quick, planScenarios({ ...plan.scenarios, allPeers }));

if (chosen.parts.has('simulation')) {
  const rows = await simulateProvider(plan.simulation, report);
  console.log(`${formatSimulation(rows)}\n`);
  if (flags.only === 'simulation') {
    if (flags.json) console.log(JSON.stringify({ simulation: rows }));
    process.exit(0);
  }
}

const server = await openServer();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void server.stop().finally(() => process.exit(1)));
}
try {
  const { url } = server;
  const facts = await readServerFacts(url);
  const measuredParts = [
    { part: 'files', labels: FILE_LABELS, measure: () => measureFiles(url, plan.files, report) },
    {
      part: 'pipelines',
      labels: PIPELINE_LABELS,
      measure: () => measurePipelines(url, plan.pipelines, report),
    },
    { part: 'limits', labels: LIMIT_LABELS, measure: () => measureLimits(url, plan.limits, report) },
    { part: 'counters', labels: COUNTER_LABELS, measure: () => measureCounters(url, plan.counters, report) },
    { part: 'api', labels: API_LABELS, measure: () => measureApi(url, plan.api, report) },
    { part: 'slope', labels: SLOPE_LABELS, measure: () => measureSlope(url, plan.slope, report) },
  ] as const;
  const parts: Spreads = {};
  for (const { part, labels, measure } of measuredParts) {
    if (!chosen.parts.has(part)) continue;
    const spreads = await measure();
    Object.assign(parts, spreads);
    console.log(`${formatSpreads(labels, spreads)}\n`);
  }
  const results = await runContestants(url, chosen, plan, report);
  const about = {
    node: process.version,
    postgres: facts.version,
    settings: facts.settings,
    cpus: cpus().length,
    drainItems: plan.scenarios.drain,
    otherItems: plan.scenarios.others,
    rounds: plan.rounds,
    seconds: Math.round((Date.now() - startedMs) / 1000),
  };
  if (results.size > 0) console.log(formatContestants(results, chosen.scenarios, plan.rounds));
  console.log(
    `\n${about.rounds} rounds; ${about.drainItems} items (others ${about.otherItems}); PostgreSQL ${about.postgres}, ` +
      `synchronous_commit on; Node ${about.node}; ${about.cpus} cores; ${about.seconds} s; peers drain fewer items: bench/contestant.ts`,
  );
  if (flags.json) console.log(JSON.stringify({ ...toJson(results, parts), about }));
} finally {
  await server.stop();
}
