// Deletes blobs that are no longer needed: incomplete writes, uploads that never became a job, and output files of
// interrupted finalizing. Only blobs that are old enough that no process can still be about to reference them.
import type { BlobInfo } from '../../platform/blob-store/blob-store.ts';
import { IMAGE_COPIES } from '../../platform/blob-store/image-copies.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { dropOldFileSets } from '../../store/commands/items/change-file-sets.ts';
import { findKnownExports } from '../../store/views/exports/list-exports.ts';
import {
  findFileSets,
  findFinalizing,
  findReferencedFiles,
  findReferencedOutputs,
  hasSharedImages,
} from '../../store/views/files/find-referenced-blobs.ts';
import { findKnownUploads } from '../../store/views/files/read-upload.ts';
import type { EngineContext } from '../engine-context.ts';
import { setOfFile } from '../items/file-set.ts';

const COLLECT_INTERVAL_MS = 10 * 60_000;
const PAGE = 500;
const EXPORT_OF_KEY = /^exports\/[0-9a-f-]{36}\/([0-9a-f-]{36})\//;
const UPLOAD_OF_KEY = /^uploads\/([0-9a-f-]{36})\//;
const JOB_OF_OUTPUT = /^outputs\/([0-9a-f-]{36})\//;

export async function collectBlobs(context: EngineContext): Promise<number> {
  const { blobs, db, settings } = context;
  let count = await blobs.collectLeftovers(settings.blobLeftoverMs);
  await dropOldFileSets(db, settings.blobLeftoverMs);
  count += await sweep(context, 'files/', async (page) => {
    const keys = page.map(({ key }) => key);
    const [sets, kept] = await Promise.all([
      findFileSets(db, [...new Set(keys.flatMap((key) => setOfFile(key) ?? []))]),
      findReferencedFiles(db, keys),
    ]);
    return page.filter(({ key }) => !kept.has(key) && !sets.has(setOfFile(key) ?? ''));
  });
  count += await sweep(context, IMAGE_COPIES, async (page) => {
    const setOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1);
    const sets = await findFileSets(db, [...new Set(page.map(({ key }) => setOf(key)))]);
    return page.filter(({ key }) => !sets.has(setOf(key)));
  });
  count += await sweep(context, 'images/', async (page) => ((await hasSharedImages(db)) ? [] : page));
  count += await sweep(context, 'outputs/', async (page) => {
    const jobOf = (key: string): string | undefined => JOB_OF_OUTPUT.exec(key)?.[1];
    const jobIds = [...new Set(page.flatMap(({ key }) => jobOf(key) ?? []))];
    const [kept, busy] = await Promise.all([findReferencedOutputs(db, jobIds), findFinalizing(db, jobIds)]);
    return page.filter(({ key }) => !kept.has(key) && !busy.has(jobOf(key) ?? ''));
  });
  count += await sweep(context, 'exports/', async (page) => {
    const exportOf = (key: string): string | undefined => EXPORT_OF_KEY.exec(key)?.[1];
    const known = await findKnownExports(db, [...new Set(page.flatMap(({ key }) => exportOf(key) ?? []))]);
    return page.filter(({ key }) => !known.has(exportOf(key) ?? ''));
  });
  count += await sweep(context, 'uploads/', async (page) => {
    const uploadOf = (key: string): string | undefined => UPLOAD_OF_KEY.exec(key)?.[1];
    const known = await findKnownUploads(db, [...new Set(page.flatMap(({ key }) => uploadOf(key) ?? []))]);
    return page.filter(({ key }) => !known.has(uploadOf(key) ?? ''));
  });
  if (count > 0) context.events.emit('blobs.collected', { count });
  return count;
}

async function sweep(
  { blobs, settings }: EngineContext,
  prefix: string,
  findUnreferenced: (page: BlobInfo[]) => Promise<BlobInfo[]>,
): Promise<number> {
  let count = 0;
  let page: BlobInfo[] = [];
  const isOld = ({ modifiedAt }: BlobInfo): boolean =>
    wallClockMs() - modifiedAt.getTime() > settings.blobLeftoverMs;
  const collect = async (): Promise<void> => {
    for (const { key } of await findUnreferenced(page)) {
      // The same bytes may have been uploaded again since the listing, which renews their time.
      const now = await blobs.head(key);
      if (!now || !isOld(now)) continue;
      await blobs.delete(key);
      count += 1;
    }
    page = [];
  };
  for await (const blob of blobs.list(prefix)) {
    if (isOld(blob)) page.push(blob);
    if (page.length === PAGE) await collect();
  }
  if (page.length > 0) await collect();
  return count;
}

export function createBlobCollector(context: EngineContext): PeriodicService {
  return new PeriodicService({
    name: 'blob collector',
    intervalMs: COLLECT_INTERVAL_MS,
    events: context.events,
    work: () => collectBlobs(context),
  });
}
