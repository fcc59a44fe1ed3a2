// A real browser: CHROME_BIN, else one that is installed, else the one that comes as a package (Linux on x64). Without any
// the tests fail and say so.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium as launcher, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

async function findBrowser(): Promise<{ path: string; args: string[] }> {
  const { CHROME_BIN, PATH = '' } = process.env;
  if (CHROME_BIN) return { path: CHROME_BIN, args: [] };
  const installed = PATH.split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
  if (installed !== undefined) return { path: installed, args: [] };
  if (process.platform === 'linux' && process.arch === 'x64') {
    // The package unpacks the libraries that a bare machine lacks only where this says so.
    process.env.AWS_EXECUTION_ENV ??= 'AWS_Lambda_nodejs20.x';
    const { default: packaged } = await import('@sparticuz/chromium');
    // In a single process pages of one person send the cookies of another.
    const args = packaged.args.filter((arg) => arg !== '--single-process' && arg !== '--no-zygote');
    return { path: await packaged.executablePath(), args };
  }
  throw new Error('expected a browser for the tests of the page: install Chromium, or set CHROME_BIN');
}

export interface OpenPage {
  page: Page;
  /** What the browser complained about: scripts that failed, and what the policy of the page refused. */
  complaints: string[];
}

/** One browser for the file; each page has its own cookies. */
export function useBrowser(): { open(options?: { dark?: boolean; width?: number }): Promise<OpenPage> } {
  let browser: Browser;
  beforeAll(async () => {
    const { path, args } = await findBrowser();
    // Root cannot use the sandbox.
    browser = await launcher.launch({
      executablePath: path,
      args: [...args, '--no-sandbox'],
      headless: true,
    });
  });
  afterAll(() => browser?.close());
  return {
    async open({ dark = false, width = 1280 } = {}) {
      const context = await browser.newContext({
        viewport: { width, height: 800 },
        colorScheme: dark ? 'dark' : 'light',
        acceptDownloads: true,
        // What a bare machine has is no language to browsers.
        locale: 'en-US',
      });
      // A busy machine is slow, not wrong.
      context.setDefaultTimeout(120_000);
      const page = await context.newPage();
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
