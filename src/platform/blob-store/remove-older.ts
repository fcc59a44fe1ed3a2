// Removes entries of a folder that were last written before a given time, and returns their number.
import { opendir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from './disk-error.ts';

export async function removeOlder(folder: string, before: number, namePrefix = ''): Promise<number> {
  const entries = await opendir(folder).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  let removed = 0;
  for await (const { name } of entries) {
    if (!name.startsWith(namePrefix)) continue;
    const path = join(folder, name);
    const stats = await stat(path).catch(() => null);
    if (!stats || stats.mtimeMs > before) continue;
    await rm(path, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}
