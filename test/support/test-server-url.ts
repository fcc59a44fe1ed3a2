// The server of this test run.

export function testServerUrl(): string {
  const url = process.env.ROWMILL_TEST_DATABASE_URL;
  if (!url) throw new Error('expected ROWMILL_TEST_DATABASE_URL to be set by the global setup');
  return url;
}
