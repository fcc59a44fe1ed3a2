// Untrusted files are parsed in threads: input that makes a parser slow or large costs a thread, not the server. A
// thread is terminated when it is busy for too long without a message, when its memory is used up, and when its
// caller aborts. A thread that is done with its file and has a small heap is reused for the next file.
import { Worker } from 'node:worker_threads';
import type { ErrorCode } from '../../core/errors/error-registry.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { waitMs } from '../../platform/clock.ts';
import { compiledFile } from '../../platform/compiled-file.ts';
import type { CsvShape, DetectedFormat, FileTop, FormatOptions, ReadLimits, ReadRow } from '../row-reader.ts';
import type { SniffedFormat } from './sniff-format.ts';
import type { TextLines } from './text-sample.ts';
import { tooMuchMemory } from './xlsx/shared-strings.ts';

export interface FileTask {
  kind: 'sniff' | 'open';
  path: string;
  /** Folder for unpacked files; the thread creates it. */
  folder: string;
  options: FormatOptions;
  limits: ReadLimits;
  /** Also return the first rows as they are written, and the sizes of all sheets. */
  wantsTop?: boolean | undefined;
}

/** `more` requests one more batch of rows. */
export type ToFileThread = { kind: 'task'; task: FileTask } | { kind: 'more' };

export interface OpenedFile {
  kind: 'opened';
  detected: DetectedFormat;
  headers: string[] | null;
  shape?: CsvShape | undefined;
  /** Path and line format of a text file; null if the rows come from the thread. */
  text: (TextLines & { path: string }) | null;
  top?: FileTop | undefined;
}

export type FromFileThread =
  | { kind: 'sniffed'; sniffed: SniffedFormat }
  | OpenedFile
  | { kind: 'rows'; rows: ReadRow[] }
  /** `isSmall`: the heap of the thread. */
  | { kind: 'end'; isSmall: boolean }
  | { kind: 'failed'; code: ErrorCode; message: string; hint: string; isSmall: boolean };

export interface FileThread {
  /** Returns the next message; throws if the thread failed. */
  next(): Promise<FromFileThread>;
  askForMore(): void;
  stop(): Promise<void>;
}

export const READ_AFTER_CLOSE = 'the rows of a file cannot be read after the file is closed';
/** Idle threads to keep, per memory size: a new one takes 50 ms. */
const MAX_IDLE = 2;
const idle = new Map<number, IdleWorker[]>();

interface IdleWorker {
  worker: Worker;
  forget: () => void;
}

export function startFileThread(task: FileTask, signal?: AbortSignal): FileThread {
  signal?.throwIfAborted();
  const { xlsxMemoryMb, fileBusyMs } = task.limits;
  const worker = takeWorker(xlsxMemoryMb);
  const messages: FromFileThread[] = [];
  let failure: unknown = null;
  let wake: (() => void) | null = null;
  let isReusable = false;
  const arrive = (): void => {
    wake?.();
    wake = null;
  };
  const fail = (error: unknown): void => {
    failure ??= error;
    isReusable = false;
    arrive();
    void worker.terminate();
  };
  const busy = watchBusy(worker, fileBusyMs, () => fail(tooBusy(fileBusyMs)));
  const onAbort = (): void => fail(signal!.reason);
  const onMessage = (message: FromFileThread): void => {
    busy.progress();
    messages.push(message);
    const isText = message.kind === 'opened' && message.text !== null;
    const isLast = message.kind === 'end' || message.kind === 'failed';
    isReusable = failure === null && (message.kind === 'sniffed' || isText || (isLast && message.isSmall));
    if (isReusable || isLast) busy.stop();
    arrive();
  };
  const onError = (error: NodeJS.ErrnoException): void =>
    fail(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuchMemory(xlsxMemoryMb) : error);
  const onExit = (): void => fail(new Error('the thread that reads the file ended too early'));
  signal?.addEventListener('abort', onAbort, { once: true });
  worker.on('message', onMessage).on('error', onError).on('exit', onExit);
  worker.postMessage({ kind: 'task', task } satisfies ToFileThread);
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
    askForMore() {
      // A stopped thread may already read another file.
      if (failure === null) worker.postMessage({ kind: 'more' } satisfies ToFileThread);
    },
    async stop() {
      busy.stop();
      signal?.removeEventListener('abort', onAbort);
      // A reader that is still waiting must not take this for the end of the sheet.
      messages.length = 0;
      failure ??= new Error(READ_AFTER_CLOSE);
      arrive();
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      if (!isReusable || !keepWorker(worker, xlsxMemoryMb)) await worker.terminate();
    },
  };
}

function takeWorker(memoryMb: number): Worker {
  const kept = idle.get(memoryMb)?.pop();
  if (kept !== undefined) {
    kept.worker.off('error', kept.forget).off('exit', kept.forget);
    kept.worker.ref();
    return kept.worker;
  }
  return new Worker(compiledFile(import.meta.url, 'file-thread.js'), {
    name: 'file',
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
}

/** False if enough threads are idle already. */
function keepWorker(worker: Worker, memoryMb: number): boolean {
  const kept = idle.get(memoryMb) ?? [];
  idle.set(memoryMb, kept);
  if (kept.length >= MAX_IDLE) return false;
  const forget = (): void => {
    const at = kept.findIndex((each) => each.worker === worker);
    if (at >= 0) kept.splice(at, 1);
  };
  kept.push({ worker, forget });
  worker.on('error', forget).on('exit', forget);
  worker.unref();
  return true;
}

/**
 * Node 20 does not report the CPU time of a thread, but it reports how long its event loop was active. Waiting for the
 * disk or for the consumer of the rows does not count.
 */
function watchBusy(worker: Worker, limitMs: number, late: () => void): { progress(): void; stop(): void } {
  const stopped = new AbortController();
  const busyMs = (): number => worker.performance.eventLoopUtilization().active;
  let since = busyMs();
  const watch = async (): Promise<void> => {
    for (;;) {
      await waitMs(Math.min(500, limitMs / 2), stopped.signal);
      if (stopped.signal.aborted) return;
      if (busyMs() - since > limitMs) return late();
    }
  };
  void watch();
  return {
    progress() {
      since = busyMs();
    },
    stop: () => stopped.abort(),
  };
}

function tooBusy(limitMs: number): RowmillError {
  return new RowmillError(
    'FILE_STALLS_READER',
    `expected the format of the file or its next rows within ${limitMs} ms of work (fileBusyMs), got nothing`,
  );
}
