// A workbook to rows. The file is inspected first, then parsed in a thread of its own with bounded memory, which sends
// its rows in batches and waits when nobody takes them. The parser is in xlsx/.
import { Worker } from 'node:worker_threads';
import type { ErrorCode } from '../../core/error-registry.ts';
import { RowmillError } from '../../core/rowmill-error.ts';
import { compiledFile } from '../../platform/compiled-file.ts';
import type { FormatOptions, ReadLimits, ReadRow, RowReader } from '../row-reader.ts';
import { inspectArchive } from './inspect-archive.ts';
import { tooMuchMemory } from './xlsx/shared-strings.ts';

export interface XlsxThreadData {
  path: string;
  options: FormatOptions;
  limits: ReadLimits;
}

/** Asks for one more batch. */
export type ToXlsxThread = 'more';
export type FromXlsxThread =
  | {
      kind: 'opened';
      sheet: string;
      sheets: string[];
      headers: string[];
      preamble: string;
      warnings: string[];
    }
  | { kind: 'rows'; rows: ReadRow[] }
  | { kind: 'end' }
  | { kind: 'failed'; code: ErrorCode; message: string; hint: string };

/** Batches that are read ahead of whoever takes them. */
const BATCHES_AHEAD = 4;
const CLOSED = 'the rows of a workbook cannot be read after the work on it has ended';

/** Runs `work` on the rows of the sheet; its thread is gone afterwards. */
export async function withXlsx<T>(
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
  work: (reader: RowReader) => Promise<T>,
): Promise<T> {
  await inspectArchive(path, limits);
  const threads = new Set<XlsxThread>();
  let closed = false;
  const open = async () => {
    if (closed) throw new Error(CLOSED);
    const thread = startThread({ path, options, limits });
    threads.add(thread);
    const opened = await thread.next();
    if (opened.kind !== 'opened') throw new Error(`expected the sheet to be opened, got ${opened.kind}`);
    return { thread, opened };
  };
  try {
    const first = await open();
    let unread: XlsxThread | null = first.thread;
    const { sheet, sheets, headers, preamble, warnings } = first.opened;
    return await work({
      detected: { format: 'xlsx', sheet, sheets, ...(preamble === '' ? {} : { preamble }), warnings },
      headers,
      async *rows() {
        // The thread that found the headers goes on with the rows; another reading needs another thread.
        const thread = unread ?? (await open()).thread;
        unread = null;
        try {
          yield* takeRows(thread);
        } finally {
          threads.delete(thread);
          await thread.stop();
        }
      },
    });
  } finally {
    closed = true;
    await Promise.all([...threads].map((thread) => thread.stop()));
  }
}

async function* takeRows(thread: XlsxThread): AsyncGenerator<ReadRow[]> {
  for (let i = 0; i < BATCHES_AHEAD; i += 1) thread.askForMore();
  for (;;) {
    const message = await thread.next();
    if (message.kind !== 'rows') return;
    yield message.rows;
    thread.askForMore();
  }
}

interface XlsxThread {
  /** The next message; a failure of the thread is thrown. */
  next(): Promise<FromXlsxThread>;
  askForMore(): void;
  stop(): Promise<void>;
}

function startThread(data: XlsxThreadData): XlsxThread {
  const worker = new Worker(compiledFile(import.meta.url, 'xlsx/xlsx-thread.js'), {
    workerData: data,
    name: 'xlsx',
    resourceLimits: { maxOldGenerationSizeMb: data.limits.xlsxMemoryMb },
  });
  const messages: FromXlsxThread[] = [];
  let failure: unknown = null;
  let wake: (() => void) | null = null;
  const arrive = (): void => {
    wake?.();
    wake = null;
  };
  worker.on('message', (message: FromXlsxThread) => {
    messages.push(message);
    arrive();
  });
  worker.on('error', (error: NodeJS.ErrnoException) => {
    failure = error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchMemory(data.limits.xlsxMemoryMb) : error;
    arrive();
  });
  worker.on('exit', () => {
    failure ??= new Error('the thread that reads the workbook ended too early');
    arrive();
  });
  return {
    async next() {
      while (messages.length === 0) {
        if (failure !== null) throw failure;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const message = messages.shift()!;
      if (message.kind !== 'failed') return message;
      throw new RowmillError(message.code, message.message, { hint: message.hint });
    },
    askForMore: () => worker.postMessage('more' satisfies ToXlsxThread),
    async stop() {
      // Whoever still reads must not take this for the end of the sheet.
      messages.length = 0;
      failure = new Error(CLOSED);
      arrive();
      await worker.terminate();
    },
  };
}
