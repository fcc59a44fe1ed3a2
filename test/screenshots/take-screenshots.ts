// Takes the screenshots of docs/screenshots in a real browser, on a server with realistic data. Names on the command
// line select some of them.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '../support/launch-browser.ts';
import { type Shot, shotsOf } from './shots.ts';
import { startShownServer } from './start-shown-server.ts';
import { takeScreenshot } from './take-screenshot.ts';

const folder = fileURLToPath(new URL('../../docs/screenshots/', import.meta.url));
const wanted = process.argv.slice(2);

async function takeAll(): Promise<void> {
  mkdirSync(folder, { recursive: true });
  if (wanted.length === 0) for (const file of readdirSync(folder)) rmSync(folder + file);
  const browser = await launchBrowser();
  const take = async (url: string, shot: Shot, cookie?: { name: string; value: string }): Promise<void> => {
    if (wanted.length === 0 || wanted.includes(shot.name))
      await takeScreenshot(browser, url, folder, shot, cookie);
  };
  const server = await startShownServer(async ({ url, setupToken }) => {
    await take(url, {
      name: 'setup',
      path: '/',
      act: async (page) => {
        await page.getByLabel('Setup token').fill('x'.repeat(setupToken.length));
        await page.getByLabel('Username').fill('ada');
      },
    });
  });
  try {
    await take(server.url, { name: 'sign-in', path: '/' });
    for (const shot of shotsOf(server)) await take(server.url, shot, server.cookies[shot.as ?? 'ada']);
  } finally {
    await browser.close();
    await server.stop();
  }
}

// Exits explicitly: after a failure, processes already started would keep this one alive.
await takeAll().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
