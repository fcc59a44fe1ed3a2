// Lighthouse scores of the job list, a running job and a finished job, on the server of the screenshots: the median of
// three runs each. They depend on the machine and its load, so no test checks them: this script prints them with the
// load of the machine, which server, workers and browser share, and fails below 95. Lighthouse is downloaded on
// demand.
import { execFile } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { launchBrowser } from '../support/launch-browser.ts';
import { startShownServer } from './start-shown-server.ts';

const LIGHTHOUSE = 'lighthouse@12.8.2';
const LEAST = 95;
const LOOKS = 3;
const run = promisify(execFile);

interface Report {
  categories: Record<'performance' | 'accessibility', { score: number }>;
  audits: Record<string, { numericValue?: number }>;
}

/** Scores up to 100, times in milliseconds. */
interface Look {
  performance: number;
  accessibility: number;
  firstPaintMs: number;
  largestPaintMs: number;
  speedIndexMs: number;
  blockedMs: number;
  shift: number;
}

async function look(url: string, port: number, cookie: string): Promise<Look> {
  const options = [
    `--port=${port}`,
    '--preset=desktop',
    '--only-categories=performance,accessibility',
    `--extra-headers=${JSON.stringify({ cookie })}`,
    '--output=json',
    '--quiet',
  ];
  const { stdout } = await run('npx', ['--yes', LIGHTHOUSE, url, ...options], { maxBuffer: 1e8 });
  const { categories, audits } = JSON.parse(stdout) as Report;
  const numberOf = (audit: string): number => audits[audit]?.numericValue ?? Number.NaN;
  return {
    performance: Math.round(categories.performance.score * 100),
    accessibility: Math.round(categories.accessibility.score * 100),
    firstPaintMs: numberOf('first-contentful-paint'),
    largestPaintMs: numberOf('largest-contentful-paint'),
    speedIndexMs: numberOf('speed-index'),
    blockedMs: numberOf('total-blocking-time'),
    shift: numberOf('cumulative-layout-shift'),
  };
}

function medianOf(looks: readonly Look[]): Look {
  const median = (name: keyof Look): number => {
    const sorted = looks.map((each) => each[name]).toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)]!;
  };
  const names = Object.keys(looks[0]!) as (keyof Look)[];
  return Object.fromEntries(names.map((name) => [name, median(name)])) as unknown as Look;
}

async function expectRunning(url: string, jobId: string, cookie: string): Promise<void> {
  const answer = await fetch(`${url}/api/jobs/${jobId}`, { headers: { cookie } });
  const { state } = (await answer.json()) as { state: string };
  if (state !== 'RUNNING') throw new Error(`expected the job to run while it is measured, got ${state}`);
}

const HEADS = ['page', 'performance', 'accessibility', 'FCP', 'LCP', 'speed', 'TBT', 'CLS', 'load', 'looks'];
const WIDTHS = [14, 11, 13, 8, 8, 8, 8, 6, 5, 0];

function printLine(cells: readonly string[]): void {
  const padded = cells.map((cell, at) => (at === 0 ? cell.padEnd(WIDTHS[at]!) : cell.padStart(WIDTHS[at]!)));
  console.log(padded.join('  '));
}

async function measureAll(): Promise<boolean> {
  const server = await startShownServer();
  const port = await freePort();
  const browser = await launchBrowser([`--remote-debugging-port=${port}`]);
  const cookie = `${server.cookies.ada.name}=${server.cookies.ada.value}`;
  const pages = [
    // First, while the job is still running.
    ['job, running', `/jobs/${server.jobs.running}`],
    ['jobs', '/jobs'],
    ['job, ended', `/jobs/${server.jobs.done}`],
  ] as const;
  console.log(`Lighthouse, desktop: median of ${LOOKS} looks on ${availableParallelism()} cores`);
  printLine(HEADS);
  let isGood = true;
  for (const [words, path] of pages) {
    const looks: Look[] = [];
    while (looks.length < LOOKS) looks.push(await look(server.url + path, port, cookie));
    if (path.endsWith(server.jobs.running)) await expectRunning(server.url, server.jobs.running, cookie);
    const median = medianOf(looks);
    const { performance, accessibility } = median;
    isGood &&= performance >= LEAST && accessibility >= LEAST;
    const times = [median.firstPaintMs, median.largestPaintMs, median.speedIndexMs, median.blockedMs];
    printLine([
      words,
      String(performance),
      String(accessibility),
      ...times.map((ms) => `${Math.round(ms)} ms`),
      median.shift.toFixed(3),
      loadavg()[0]!.toFixed(1),
      looks.map((each) => each.performance).join(' '),
    ]);
  }
  console.log(isGood ? `All are ${LEAST} or more.` : `Not all are ${LEAST} or more.`);
  await browser.close();
  await server.stop();
  return isGood;
}

// Exits explicitly: after a failure, processes already started would keep this one alive.
await measureAll().then(
  (isGood) => process.exit(isGood ? 0 : 1),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
