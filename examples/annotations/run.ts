// `npm run example annotations`: generates three uploads and runs them one after the other, the second one twice.
// After each it compares the counters with a recount by the generator, and at the end with the stored contributions.
import { spawnSync } from 'node:child_process';
import { createClient } from 'rowmill/client';
import { startApi } from '../../src/api/start-api.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import { withEmbeddedRowmill, withWorker } from '../with-embedded-rowmill.ts';
import { closeStore } from './annotation-store.ts';
import { generateUploads, writeUpload } from './generate-uploads.ts';
import { upload } from './pipeline.ts';
import { Recount } from './recount.ts';

export async function run(args: readonly string[]): Promise<void> {
  const isLarge = args.includes('--large');
  const uploads = generateUploads({ documents: isLarge ? 20_000 : 500, seed: 11 });
  // Counters are kept, so the small and the large run use different databases.
  const folder = isLarge ? 'annotations-large' : 'annotations';
  await withEmbeddedRowmill(folder, async ({ rowmill, databaseUrl }) => {
    const flags = {
      authentication: 'none',
      apiPort: 0,
      apiRequestsPerSecond: 10_000,
      apiRequestBurst: 10_000,
    };
    const settings = loadSettings({ flags });
    const api = await startApi({ databaseUrl, pipelines: [], settings, log: createLogger() });
    const client = createClient({ baseUrl: api.url });
    const recount = new Recount();
    try {
      await withWorker(rowmill, [upload], async () => {
        for (const each of uploads) {
          const path = `out/annotations-${each.name}.jsonl`;
          await writeUpload(path, each);
          const startedMs = performance.now();
          const { jobId } = await rowmill.submitFile(upload, path, {
            params: { mode: each.mode },
            again: true,
          });
          const { counts, total } = await rowmill.whenFinished(jobId);
          const seconds = (performance.now() - startedMs) / 1000;
          console.log(
            `${path} (${each.mode}): ${total} lines, ${counts.DONE} stored, ${counts.ERROR} broken; ` +
              `${seconds.toFixed(1)} s, ${Math.round(total / seconds)} lines/s`,
          );
          recount.take(each);
          await check(`after ${each.name}`);
          if (each.mode !== 'add') continue;
          // The rerun takes back what the first run added, so nothing is counted twice.
          await rowmill.reprocess(jobId, { statuses: 'all' });
          await rowmill.whenFinished(jobId);
          await check(`after ${each.name} was rerun`);
        }
      });
    } finally {
      await closeStore();
      await api.stop();
    }

    async function check(when: string): Promise<void> {
      const problems = await recount.compare(client);
      const { total } = await client.getCounter({ counter: 'annotations' });
      console.log(`  ${when}: ${JSON.stringify(total)}, differences from the recount: ${problems.length}`);
      for (const problem of problems.slice(0, 5)) console.log(`    ${problem}`);
      if (problems.length > 0) process.exitCode = 1;
    }
    // Checks the counters against the stored contributions of the rows.
    const counterCheck = spawnSync(process.execPath, ['dist/cli/main.js', 'counters', 'check'], {
      env: { ...process.env, DATABASE_URL: databaseUrl },
      encoding: 'utf8',
    });
    console.log(`rowmill counters check: ${counterCheck.stdout.trim()}`);
    if (counterCheck.status !== 0) process.exitCode = 1;
    const { pairs, annotations } = recount.size();
    console.log(`${annotations} annotations on ${pairs} pairs of project and document`);
  });
}
