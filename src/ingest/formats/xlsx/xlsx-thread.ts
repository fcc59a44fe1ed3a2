// The thread behind read-xlsx.ts: reads one sheet and sends its rows, as many batches ahead as it was asked for.
import { parentPort, workerData } from 'node:worker_threads';
import { RowmillError } from '../../../core/rowmill-error.ts';
import type { ReadRow } from '../../row-reader.ts';
import type { FromXlsxThread, ToXlsxThread, XlsxThreadData } from '../read-xlsx.ts';
import { openZip } from '../zip-archive.ts';
import { openSheetTable } from './sheet-table.ts';

const { path, options, limits } = workerData as XlsxThreadData;
const port = parentPort!;
const BATCH_ROWS = 500;
const BATCH_BYTES = 1024 * 1024;

let asked = 0;
let wake: (() => void) | null = null;

port.on('message', (_: ToXlsxThread) => {
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

function tell(message: FromXlsxThread): void {
  port.postMessage(message);
}

async function readSheet(): Promise<void> {
  // Inspected already; here the sheets are opened more than once, which must not count twice.
  const unlimited = {
    ...limits,
    inflateMaxBytes: Number.POSITIVE_INFINITY,
    inflateMaxRatio: Number.POSITIVE_INFINITY,
  };
  const archive = await openZip(path, unlimited);
  try {
    const { rows, ...opened } = await openSheetTable(archive, options, limits);
    tell({ kind: 'opened', ...opened });
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
    tell({ kind: 'end' });
  } finally {
    archive.close();
  }
}

function lengthOf(row: ReadRow): number {
  if (row.kind === 'cells') return row.cells.reduce((sum, cell) => sum + cell.length, 0);
  return row.kind === 'rejected' ? row.raw.length : 0;
}

readSheet()
  .catch((error: unknown) => {
    // Another error is a fault of this program and ends the thread loudly.
    if (!(error instanceof RowmillError)) throw error;
    const { code, message, hint } = error;
    tell({ kind: 'failed', code, message, hint });
  })
  .finally(() => port.close());
