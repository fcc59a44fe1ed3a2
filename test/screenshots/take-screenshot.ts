// One picture of one screen, when it has come to rest.
import { statSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { openWindow } from '../support/launch-browser.ts';
import type { Shot } from './shots.ts';

async function rest(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page
    .getByText(/^(Loading|Connecting|Reading)/)
    .first()
    .waitFor({ state: 'detached' });
  // Rows of a grid, and what a chart is drawn with.
  await page.waitForLoadState('load');
  await page.waitForFunction('document.querySelectorAll(".animate-pulse").length === 0');
  await page.evaluate('document.fonts.ready');
}

export async function takeScreenshot(
  browser: Browser,
  url: string,
  folder: string,
  shot: Shot,
  cookie?: { name: string; value: string },
): Promise<void> {
  const context = await openWindow(browser, shot);
  if (cookie) await context.addCookies([{ ...cookie, url }]);
  const page = await context.newPage();
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto(url + shot.path);
  await rest(page);
  if (shot.act) {
    await shot.act(page);
    await rest(page);
  }
  await page.screenshot({ path: `${folder}${shot.name}.png` });
  await context.close();
  console.error(`${shot.name}.png: ${Math.round(statSync(`${folder}${shot.name}.png`).size / 1000)} kB`);
}
