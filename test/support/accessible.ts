// axe violations of a page that has loaded. axe runs in the page itself: its Playwright package opens a second page for
// each check, to join the results of frames, and the page has none.
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Waits until no part of the page waits for its first response. */
export async function whenLoaded(page: Page): Promise<void> {
  await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
}

/** `colorsOnly`: for a page already checked in other colours, where only the contrast can differ. */
export async function expectAccessible(
  page: Page,
  { colorsOnly = false }: { colorsOnly?: boolean } = {},
): Promise<void> {
  await whenLoaded(page);
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe.source);
  const options: axe.RunOptions = {
    resultTypes: ['violations'],
    ...(colorsOnly && { runOnly: { type: 'rule', values: ['color-contrast'] } }),
  };
  const violations = await page.evaluate<[id: string, html: string][]>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => [id, nodes[0].html]))`,
  );
  // One text, so that the failure message shows every violation.
  expect(violations.map(([id, html]) => `${id}: ${html}`).join('\n')).toBe('');
}

/** In light colours, then the colours alone in dark ones. */
export async function expectAccessibleInBothColours(page: Page): Promise<void> {
  await expectAccessible(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await expectAccessible(page, { colorsOnly: true });
  await page.emulateMedia({ colorScheme: 'light' });
}
