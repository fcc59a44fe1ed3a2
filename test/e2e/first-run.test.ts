// The first minutes with a fresh server in a real browser: no account, the first account, signing out and in again.
import { expect, test } from 'vitest';
import { capturedLog, type LogEntry } from '../../src/testing/captured-log.ts';
import { expectNoComplaints, useBrowser } from '../support/browser.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const browser = useBrowser();

test('the first account is created with the token from the log, and can sign in again', async () => {
  await database.query('delete from users');
  const lines: Omit<LogEntry, 'atMs'>[] = [];
  const log = capturedLog((entry) => lines.push(entry), null);
  const { url } = await startTestApi(database.url, { settings: { authentication: 'password' }, log });
  const token = lines.find(({ fields }) => 'setupToken' in fields)!.fields.setupToken as string;
  const { page, complaints } = await browser.open();
  await page.goto(url);
  await page.getByLabel('Setup token').fill('not the token');
  await page.getByLabel('Username').fill('ada');
  await page.getByLabel('Password').fill('a long and winding road');
  await page.getByRole('button', { name: 'Create account' }).click();
  await expect.poll(() => page.getByRole('alert').textContent()).toContain('token');
  await page.getByLabel('Setup token').fill(token);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByLabel('Username').fill('ada');
  await page.getByLabel('Password').fill('a long and winding road');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  expectNoComplaints(complaints);
});
