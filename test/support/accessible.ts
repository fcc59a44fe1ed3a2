// axe violations of a page that has loaded.
import { AxeBuilder } from '@axe-core/playwright';
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
  const axe = new AxeBuilder({ page });
  const { violations } = await (colorsOnly ? axe.withRules('color-contrast') : axe).analyze();
  // One text, so that the failure message shows every violation.
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`).join('\n')).toBe('');
}
