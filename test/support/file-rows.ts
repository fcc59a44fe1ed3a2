// Helpers for tests of file formats: files with given bytes, the default limits, and all rows of a reader.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { ReadLimits, ReadRow, RowReader } from '../../src/ingest/row-reader.ts';
import { NUMBER_SETTINGS } from '../../src/platform/setting-table.ts';

export interface TestFiles {
  /** Path of a new file with this content; the name does not reveal its format. */
  write(content: string | Buffer): string;
}

/** Files that are deleted after the tests of this file. */
export function useTestFiles(): TestFiles {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-files-test-'));
  let count = 0;
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return {
    write(content) {
      count += 1;
      const path = join(folder, `file-${count}`);
      writeFileSync(path, content);
      return path;
    },
  };
}

export function shippedLimits(changed: Partial<ReadLimits> = {}): ReadLimits {
  const shipped = NUMBER_SETTINGS;
  return {
    maxColumns: shipped.ingestMaxColumns.default,
    maxCellBytes: shipped.ingestMaxCellBytes.default,
    maxRowBytes: shipped.ingestMaxRowBytes.default,
    inflateMaxBytes: shipped.inflateMaxBytes.default,
    inflateMaxRatio: shipped.inflateMaxRatio.default,
    archiveMaxEntries: shipped.archiveMaxEntries.default,
    fileBusyMs: shipped.fileBusyMs.default,
    xlsxMemoryMb: shipped.xlsxMemoryMb.default,
    imageMaxBytes: shipped.imageMaxBytes.default,
    imageMaxPixels: shipped.imageMaxPixels.default,
    ...changed,
  };
}

export async function allRows(reader: RowReader): Promise<ReadRow[]> {
  const rows: ReadRow[] = [];
  for await (const some of reader.rows()) rows.push(...some);
  return rows;
}
