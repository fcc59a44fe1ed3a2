// The browser of a test file, and what it complains about.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { launchBrowser, openWindow, type WindowOptions } from './launch-browser.ts';

export interface OpenPage {
  page: Page;
  /** What the browser complained about: scripts that failed, and what the policy of the page refused. */
  complaints: string[];
}

/** One browser for the file; each page has its own cookies. */
export function useBrowser(): { open(options?: WindowOptions): Promise<OpenPage> } {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
  return {
    async open(options) {
      const window = await openWindow(browser, options);
      // A busy machine is slow, not wrong.
      window.setDefaultTimeout(120_000);
      const page = await window.newPage();
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text());
      });
      return { page, complaints };
    },
  };
}

export function expectNoComplaints(complaints: readonly string[]): void {
  expect(complaints, 'what the browser complained about').toEqual([]);
}
