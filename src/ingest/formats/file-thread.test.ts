import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { XlsxStreamWriter } from 'hucre/xlsx';
import { describe, expect, it } from 'vitest';
import { shippedLimits, useTestFiles } from '../../../test/support/file-rows.ts';
import { waitMs } from '../../platform/clock.ts';
import { compiledFile } from '../../platform/compiled-file.ts';
import type { FromFileThread, ToFileThread } from './file-threads.ts';

const files = useTestFiles();

describe('the thread of a workbook', () => {
  it('sends exactly as many batches as requested', async () => {
    const writer = new XlsxStreamWriter({ name: 'S', columns: [{ header: 'n' }] });
    for (let i = 0; i < 5000; i += 1) writer.addRow([i]);
    const path = files.write(Buffer.from(await writer.finish()));
    const thread = new Worker(compiledFile(import.meta.url, 'file-thread.js'));
    const say = (message: ToFileThread): void => thread.postMessage(message);
    const seen: string[] = [];
    thread.on('message', (message: FromFileThread) => seen.push(message.kind));
    const task = {
      kind: 'open',
      path,
      folder: `${path}-inner`,
      options: {},
      limits: shippedLimits(),
    } as const;
    say({ kind: 'task', task });
    try {
      await once(thread, 'message');
      // Only waiting can show that nothing more comes. The whole sheet takes a fraction of this time.
      await waitMs(300);
      expect(seen).toEqual(['opened']);
      say({ kind: 'more' });
      say({ kind: 'more' });
      await expect.poll(() => seen.length).toBe(3);
      await waitMs(300);
      expect(seen).toEqual(['opened', 'rows', 'rows']);
      for (let i = 0; i < 8; i += 1) say({ kind: 'more' });
      await expect.poll(() => seen.at(-1)).toBe('end');
      expect(seen).toEqual(['opened', ...Array<string>(10).fill('rows'), 'end']);
    } finally {
      await thread.terminate();
    }
  });
});
