// Takes a screenshot of one screen, once it has settled.
import { statSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { openWindow } from '../support/launch-browser.ts';
import type { Shot } from './shots.ts';

/** The page behind a dialog is hidden, but attached. */
async function rest(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor({ state: 'attached' });
  await page
    .getByText(/^(Loading|Connecting|Reading)/)
    .first()
    .waitFor({ state: 'detached' });
  await page.locator('.animate-pulse').first().waitFor({ state: 'detached' });
  // Images further down are fetched when they scroll into view.
  await page.evaluate(
    'Promise.all([...document.images].filter((each) => each.getBoundingClientRect().top < innerHeight).map((each) => each.decode()))',
  );
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
