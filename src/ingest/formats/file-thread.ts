// The thread behind file-threads.ts: detects the format of an untrusted file, opens it, and reads the rows of a
// workbook, as many batches ahead as requested. It may be terminated at any time and writes only to the folder of its
// task.
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ReadRow } from '../row-reader.ts';
import type { FileTask, FromFileThread, ToFileThread } from './file-threads.ts';
import { inspectArchive } from './inspect-archive.ts';
import { chooseFormat, openTextFormat } from './open-file.ts';
import { unpackFile } from './sniff-format.ts';
import { openSheetTable } from './xlsx/sheet-table.ts';
import { withZip } from './zip-archive.ts';

const port = parentPort!;
const BATCH_ROWS = 500;
const BATCH_BYTES = 1024 * 1024;
/** Twice the heap of a thread that has read a few rows, garbage included. */
const SMALL_HEAP_BYTES = 32 * 1024 * 1024;

let asked = 0;
let wake: (() => void) | null = null;

port.on('message', (message: ToFileThread) => {
  if (message.kind === 'task') {
    asked = 0;
    return void run(message.task);
  }
  asked += 1;
  wake?.();
});

async function send(rows: ReadRow[]): Promise<void> {
  while (asked === 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  asked -= 1;
  tell({ kind: 'rows', rows });
}

function tell(message: FromFileThread): void {
  port.postMessage(message);
}

async function run(task: FileTask): Promise<void> {
  try {
    const { path, folder, options, limits } = task;
    const file = await unpackFile(path, folder, options, limits);
    if (task.kind === 'sniff') return tell({ kind: 'sniffed', sniffed: file.sniffed });
    const format = chooseFormat(file, options.format);
    if (format === 'xlsx') return await readSheet(file.path, file.sniffed.compression, task);
    const opened = await openTextFormat(format, file.path, options, limits, task.wantsTop);
    const { detected, headers, shape, top, lineEnd = '\n' } = opened;
    const lines = { encoding: detected.encoding ?? 'utf-8', lineEnd };
    const { compression } = file.sniffed;
    tell({
      kind: 'opened',
      detected: compression === undefined ? detected : { ...detected, compression },
      headers,
      shape,
      text: { path: file.path, ...lines },
      top,
    });
  } catch (error) {
    // Any other error is a bug and ends the thread with an 'error' event.
    if (!(error instanceof RowmillError)) throw error;
    const { code, message, hint } = error;
    tell({ kind: 'failed', code, message, hint, isSmall: isSmall() });
  }
}

async function readSheet(
  path: string,
  compression: 'gzip' | 'zip' | undefined,
  { options, limits, wantsTop }: FileTask,
): Promise<void> {
  await inspectArchive(path, limits);
  // The chosen sheet is opened twice, everything else once.
  const twice = {
    ...limits,
    inflateMaxBytes: limits.inflateMaxBytes * 2,
    inflateMaxRatio: limits.inflateMaxRatio * 2,
  };
  await withZip(path, twice, async (archive) => {
    const { rows, sheet, sheets, headers, table, preamble, warnings, top } = await openSheetTable(
      archive,
      options,
      limits,
      wantsTop,
    );
    const found = preamble === '' ? {} : { preamble };
    const packed = compression === undefined ? {} : { compression };
    const detected = { format: 'xlsx' as const, sheet, sheets, table, ...found, warnings, ...packed };
    tell({ kind: 'opened', detected, headers, text: null, top });
    let batch: ReadRow[] = [];
    let bytes = 0;
    for await (const some of rows) {
      for (const row of some) {
        batch.push(row);
        bytes += lengthOf(row);
        if (batch.length < BATCH_ROWS && bytes < BATCH_BYTES) continue;
        await send(batch);
        batch = [];
        bytes = 0;
      }
    }
    if (batch.length > 0) await send(batch);
  });
  tell({ kind: 'end', isSmall: isSmall() });
}

function isSmall(): boolean {
  return getHeapStatistics().used_heap_size < SMALL_HEAP_BYTES;
}

function lengthOf(row: ReadRow): number {
  if (row.kind === 'cells') return row.cells.reduce<number>((sum, cell) => sum + (cell as string).length, 0);
  return row.kind === 'rejected' ? row.raw.length : 0;
}
