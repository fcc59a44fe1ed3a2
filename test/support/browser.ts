// The browser of a test file, and the errors that it reports.
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { launchBrowser, openWindow, type WindowOptions } from './launch-browser.ts';

export interface OpenPage {
  page: Page;
  /** Errors reported by the browser: failed scripts, and violations of the page's policy. */
  complaints: string[];
}

/** One browser per file; each page has its own cookies. */
export function useBrowser(): { open(options?: WindowOptions): Promise<OpenPage> } {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  const pages: Page[] = [];
  afterEach(async ({ task }) => {
    for (const page of pages.splice(0)) {
      if (task.result?.state === 'fail') console.error(await describePage(page));
      // An open page would keep sending requests to a stopped server.
      await page.context().close();
    }
  });
  afterAll(() => browser?.close());
  return {
    async open(options) {
      const window = await openWindow(browser, options);
      // Less than the timeout of a test, so that the failure names what was waited for.
      window.setDefaultTimeout(45_000);
      const page = await window.newPage();
      pages.push(page);
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text());
      });
      return { page, complaints };
    },
  };
}

const MAX_DESCRIPTION = 8000;

/** The state of a page for the log: in CI nothing else remains of the machine. */
async function describePage(page: Page): Promise<string> {
  if (page.isClosed()) return 'a page of the test that failed is closed';
  const shown = await page.locator('body').ariaSnapshot({ timeout: 10_000 }).catch(String);
  return `what a page of the test that failed shows: ${page.url()}\n${shown.slice(0, MAX_DESCRIPTION)}`;
}

export function expectNoComplaints(complaints: readonly string[]): void {
  expect(complaints, 'what the browser complained about').toEqual([]);
}
