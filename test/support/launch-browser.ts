// Launches a real browser: CHROME_BIN, otherwise an installed one, otherwise the packaged one (Linux on x64). Throws
// if there is none.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium as launcher } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

export async function findBrowser(): Promise<{ path: string; args: string[] }> {
  const { CHROME_BIN, PATH = '' } = process.env;
  if (CHROME_BIN) return { path: CHROME_BIN, args: [] };
  const installed = PATH.split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
  if (installed !== undefined) return { path: installed, args: [] };
  if (process.platform === 'linux' && process.arch === 'x64') {
    // The package unpacks the libraries that a bare machine lacks only if this is set.
    process.env.AWS_EXECUTION_ENV ??= 'AWS_Lambda_nodejs20.x';
    const { default: packaged } = await import('@sparticuz/chromium');
    packaged.setGraphicsMode = false;
    // In a single process, pages of one user send the cookies of another.
    const args = packaged.args.filter((arg) => arg !== '--single-process' && arg !== '--no-zygote');
    return { path: await packaged.executablePath(), args };
  }
  throw new Error('expected a browser for the tests of the page: install Chromium, or set CHROME_BIN');
}

/**
 * Like loopback-only.mjs for Node: no other address is reached, and nothing is resolved or fetched in the background.
 */
const LOOPBACK_ONLY = [
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/** An emulated graphics card takes twice as long as software drawing. */
const WITHOUT_GRAPHICS_CARD = ['--disable-gpu'];

export async function launchBrowser(extraArgs: readonly string[] = []): Promise<Browser> {
  const { path, args } = await findBrowser();
  // Root cannot use the sandbox.
  return launcher.launch({
    executablePath: path,
    args: [...args, '--no-sandbox', ...LOOPBACK_ONLY, ...WITHOUT_GRAPHICS_CARD, ...extraArgs],
    headless: true,
  });
}

export interface WindowOptions {
  dark?: boolean;
  width?: number;
  /** Reduced motion, as in the settings of the operating system. */
  calm?: boolean;
}

/** A window with its own cookies. */
export function openWindow(
  browser: Browser,
  { dark = false, width = 1280, calm = false }: WindowOptions = {},
): Promise<BrowserContext> {
  return browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: calm ? 'reduce' : 'no-preference',
    acceptDownloads: true,
    // Browsers do not accept the default locale of a bare machine.
    locale: 'en-US',
  });
}
