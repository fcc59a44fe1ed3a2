// The tests of the unit lane: those that start no server, process, thread or browser. The imports of a test decide, so
// there is no list to maintain. A test that does not belong here fails immediately: the lane has no database.
import { readdirSync, readFileSync } from 'node:fs';

const STARTS_SOMETHING =
  /(test-database|test-server-url|test-api|child-process|run-command|browser|launch-browser|pgbouncer|sftp-server|ftp-server|s3-stub)\.ts|start-embedded-postgres|node:(child_process|http|https|net|worker_threads)/;

export function listUnitTests(): string[] {
  return ['src', 'web', 'test'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.test.ts'))
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => !STARTS_SOMETHING.test(readFileSync(path, 'utf8'))),
  );
}
