// What axe finds wrong with a page that has loaded.
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** No part of the page is still waiting for its first answer. */
export async function whenLoaded(page: Page): Promise<void> {
  await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
}

/** With other colours only, the contrast is all that can differ. */
export async function expectAccessible(
  page: Page,
  { colorsOnly = false }: { colorsOnly?: boolean } = {},
): Promise<void> {
  await whenLoaded(page);
  const axe = new AxeBuilder({ page });
  const { violations } = await (colorsOnly ? axe.withRules('color-contrast') : axe).analyze();
  // One text: the message of a failure says what was found.
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`).join('\n')).toBe('');
}
