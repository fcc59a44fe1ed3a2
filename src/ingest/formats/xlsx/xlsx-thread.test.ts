import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { XlsxStreamWriter } from 'hucre/xlsx';
import { describe, expect, it } from 'vitest';
import { shippedLimits, useTestFiles } from '../../../../test/support/file-rows.ts';
import { waitMs } from '../../../platform/clock.ts';
import { compiledFile } from '../../../platform/compiled-file.ts';
import type { FromXlsxThread, XlsxThreadData } from '../read-xlsx.ts';

const files = useTestFiles();

describe('the thread of a workbook', () => {
  it('sends as many batches as it was asked for, and not one more', async () => {
    const writer = new XlsxStreamWriter({ name: 'S', columns: [{ header: 'n' }] });
    for (let i = 0; i < 5000; i += 1) writer.addRow([i]);
    const path = files.write(Buffer.from(await writer.finish()));
    const data: XlsxThreadData = { path, options: {}, limits: shippedLimits() };
    const thread = new Worker(compiledFile(import.meta.url, 'xlsx-thread.js'), { workerData: data });
    const seen: string[] = [];
    thread.on('message', (message: FromXlsxThread) => seen.push(message.kind));
    try {
      await once(thread, 'message');
      // That nothing comes can only be seen by waiting; the whole sheet takes it a fraction of this.
      await waitMs(300);
      expect(seen).toEqual(['opened']);
      thread.postMessage('more');
      thread.postMessage('more');
      await expect.poll(() => seen.length).toBe(3);
      await waitMs(300);
      expect(seen).toEqual(['opened', 'rows', 'rows']);
      for (let i = 0; i < 8; i += 1) thread.postMessage('more');
      await once(thread, 'exit');
      expect(seen).toEqual(['opened', ...Array<string>(10).fill('rows'), 'end']);
    } finally {
      await thread.terminate();
    }
  });
});
