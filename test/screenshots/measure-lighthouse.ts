// Scores of Lighthouse for the list of jobs and for a job, on the server of the pictures. They depend on the machine and
// what else it does, so no test asks for them: this prints them and fails below 95. Lighthouse is fetched when it is run.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { launchBrowser } from '../support/launch-browser.ts';
import { startShownServer } from './start-shown-server.ts';

const LIGHTHOUSE = 'lighthouse@12.8.2';
const LEAST = 95;
const run = promisify(execFile);

interface Report {
  categories: Record<'performance' | 'accessibility', { score: number }>;
  audits: Record<string, { id: string; score: number | null; displayValue?: string }>;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function measure(url: string, port: number, cookie: string): Promise<Report> {
  const options = [
    `--port=${port}`,
    '--preset=desktop',
    '--only-categories=performance,accessibility',
    `--extra-headers=${JSON.stringify({ cookie })}`,
    '--output=json',
    '--quiet',
  ];
  const { stdout } = await run('npx', ['--yes', LIGHTHOUSE, url, ...options], { maxBuffer: 1e8 });
  return JSON.parse(stdout) as Report;
}

async function measureAll(): Promise<boolean> {
  const server = await startShownServer();
  const port = await freePort();
  const browser = await launchBrowser([`--remote-debugging-port=${port}`]);
  const { name, value } = server.cookies.ada;
  let isGood = true;
  for (const path of ['/jobs', `/jobs/${server.jobs.running}`, `/jobs/${server.jobs.done}`]) {
    const { categories, audits } = await measure(server.url + path, port, `${name}=${value}`);
    const performance = Math.round(categories.performance.score * 100);
    const accessibility = Math.round(categories.accessibility.score * 100);
    isGood &&= performance >= LEAST && accessibility >= LEAST;
    console.log(`${path}: performance ${performance}, accessibility ${accessibility}`);
    for (const id of [
      'first-contentful-paint',
      'largest-contentful-paint',
      'total-blocking-time',
      'cumulative-layout-shift',
    ])
      console.log(`  ${id} ${audits[id]?.displayValue ?? ''}`);
  }
  await browser.close();
  await server.stop();
  return isGood;
}

// What was started before something failed would keep the process.
await measureAll().then(
  (isGood) => process.exit(isGood ? 0 : 1),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
