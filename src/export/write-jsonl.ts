// Results as JSON lines, everything kept.
import { createWriteStream } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline as streamPipeline } from 'node:stream/promises';
import type { ExportRow } from '../store/views/export-page.ts';

export async function writeJsonLines(path: string, rows: AsyncIterable<ExportRow>): Promise<number> {
  let count = 0;
  async function* lines(): AsyncGenerator<string> {
    for await (const row of rows) {
      count += 1;
      yield `${JSON.stringify(row)}\n`;
    }
  }
  await mkdir(dirname(path), { recursive: true });
  await streamPipeline(lines, createWriteStream(`${path}.part`));
  await rename(`${path}.part`, path);
  return count;
}
