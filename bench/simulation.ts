// Measures how well calls use a service with limits: Rowmill's shared limits, workers of a fixed size and p-queue
// against one modelled service in virtual time. Needs no database.
import { contestants } from './provider-simulation/contestants.ts';
import type { Measured } from './provider-simulation/measure-calls.ts';
import { scenariosFor } from './provider-simulation/scenarios.ts';

export interface SimulationPlan {
  capacity: number;
  latencyMs: number;
  seeds: readonly number[];
}

export interface SimulationRow extends Measured {
  scenario: string;
  contestant: string;
}

/** Runs every contestant in every scenario. Each number is the worst of all seeds. */
export async function simulateProvider(
  { capacity, latencyMs, seeds }: SimulationPlan,
  report: (text: string) => void,
): Promise<SimulationRow[]> {
  const rows: SimulationRow[] = [];
  for (const scenario of scenariosFor(capacity, latencyMs)) {
    for (const { name, run } of contestants) {
      const measured: Measured[] = [];
      for (const seed of seeds) measured.push(await run(scenario, seed));
      rows.push({ scenario: scenario.name, contestant: name, ...measured.reduce(worstOf) });
    }
    report(`simulated: ${scenario.name}`);
  }
  return rows;
}

function worstOf(a: Measured, b: Measured): Measured {
  const most = (x: number | null, y: number | null) => (x === null || y === null ? null : Math.max(x, y));
  return {
    utilisation: Math.min(a.utilisation, b.utilisation),
    throttled: Math.max(a.throttled, b.throttled),
    callsInOutage: most(a.callsInOutage, b.callsInOutage),
    backAfterS: most(a.backAfterS, b.backAfterS),
    maxPerSecond: Math.max(a.maxPerSecond, b.maxPerSecond),
    maxConcurrency: Math.max(a.maxConcurrency, b.maxConcurrency),
  };
}

const COLUMNS = ['used', 'throttled', 'calls in outage', 'back after', 'most per second', 'most at once'];

/** One Markdown table for all scenarios. */
export function formatSimulation(rows: readonly SimulationRow[]): string {
  const percent = (part: number, digits: number) => `${(part * 100).toFixed(digits)} %`;
  const cells = rows.map((row) => [
    row.scenario,
    row.contestant,
    percent(row.utilisation, 1),
    percent(row.throttled, 2),
    row.callsInOutage === null ? '' : String(row.callsInOutage),
    row.backAfterS === null
      ? ''
      : Number.isFinite(row.backAfterS)
        ? `${row.backAfterS.toFixed(1)} s`
        : 'never',
    String(row.maxPerSecond),
    String(row.maxConcurrency),
  ]);
  const all = [['service', 'contestant', ...COLUMNS], ...cells];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((line) => line[column]!.length)));
  const lines = all.map((line) => `| ${line.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`);
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}
