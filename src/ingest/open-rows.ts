// Opens a local file of rows by its content, regardless of its name, and removes the files it unpacked. Detection,
// which depends on the whole of an untrusted file, runs in a thread; so does reading a workbook. Rows of text files
// are read here: their readers take time linear in the text, in slices of a few hundred kilobytes or one row.
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../platform/random.ts';
import { csvReader } from './formats/csv/read-csv.ts';
import {
  READ_AFTER_CLOSE,
  type FileTask,
  type FileThread,
  type OpenedFile,
  startFileThread,
} from './formats/file-threads.ts';
import { imageManifestReader } from './formats/read-images.ts';
import { jsonArrayReader } from './formats/read-json-array.ts';
import { jsonlReader } from './formats/read-jsonl.ts';
import { urlListReader } from './formats/read-url-list.ts';
import type { SniffedFormat } from './formats/sniff-format.ts';
import { unguardRows } from './formats/unguard-rows.ts';
import type { FormatOptions, ReadLimits, ReadRow, RowReader } from './row-reader.ts';

/** Batches that the thread reads ahead of the consumer. */
const BATCHES_AHEAD = 4;

/** Detects the format of a file, through one layer of gzip or zip. */
export function sniffFile(path: string, limits: ReadLimits, signal?: AbortSignal): Promise<SniffedFormat> {
  return withThreads({ path, options: {}, limits }, signal, async (start) => {
    const answer = await start('sniff').next();
    if (answer.kind !== 'sniffed') throw new Error(`expected a format, got ${answer.kind}`);
    return answer.sniffed;
  });
}

/** Runs `work` on the rows of the file. The reader cannot be used afterwards. */
export function withRows<T>(
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
  work: (reader: RowReader) => Promise<T>,
  signal?: AbortSignal,
  wantsTop = false,
): Promise<T> {
  return withThreads({ path, options, limits, wantsTop }, signal, async (start, stop) => {
    const open = async (): Promise<{ thread: FileThread; opened: OpenedFile }> => {
      const thread = start('open');
      const opened = await thread.next();
      if (opened.kind !== 'opened') throw new Error(`expected the file to be opened, got ${opened.kind}`);
      return { thread, opened };
    };
    const { thread, opened } = await open();
    const { detected, headers, text, top } = opened;
    const shown = top === undefined ? {} : { top };
    if (text !== null) {
      await stop(thread);
      const reader = textReader(opened, text, options, limits);
      return work({ detected, headers, ...shown, rows: () => reader.rows() });
    }
    let unread: FileThread | null = thread;
    return work({
      detected,
      headers,
      ...shown,
      async *rows() {
        // The thread that found the headers continues with the rows; a second read needs a new thread.
        const reading = unread ?? (await open()).thread;
        unread = null;
        try {
          yield* takeRows(reading);
        } finally {
          await stop(reading);
        }
      },
    });
  });
}

function textReader(
  { detected, headers, shape }: OpenedFile,
  text: NonNullable<OpenedFile['text']>,
  options: FormatOptions,
  limits: ReadLimits,
): RowReader {
  const { table } = detected;
  const arrays = table !== undefined && headers !== null ? { table, headers } : null;
  switch (detected.format) {
    case 'csv':
      return unguardRows(
        csvReader(text.path, { detected, headers: headers!, shape: shape! }, options, limits),
      );
    case 'jsonl':
      return jsonlReader(text.path, text, limits, arrays);
    case 'json':
      return jsonArrayReader(text.path, text, limits, arrays);
    case 'urls':
      return urlListReader(text.path, text, limits);
    case 'images':
      return imageManifestReader(text.path, limits);
    case 'xlsx':
      throw new Error('the rows of a workbook come from its thread');
  }
}

async function* takeRows(thread: FileThread): AsyncGenerator<ReadRow[]> {
  for (let i = 0; i < BATCHES_AHEAD; i += 1) thread.askForMore();
  for (;;) {
    const message = await thread.next();
    if (message.kind !== 'rows') return;
    yield message.rows;
    thread.askForMore();
  }
}

/** When `work` has finished, all threads are stopped and their unpacked files are removed. */
async function withThreads<T>(
  given: Pick<FileTask, 'path' | 'options' | 'limits' | 'wantsTop'>,
  signal: AbortSignal | undefined,
  work: (
    start: (kind: FileTask['kind']) => FileThread,
    stop: (thread: FileThread) => Promise<void>,
  ) => Promise<T>,
): Promise<T> {
  const threads = new Set<FileThread>();
  const folders: string[] = [];
  let isClosed = false;
  const start = (kind: FileTask['kind']): FileThread => {
    if (isClosed) throw new Error(READ_AFTER_CLOSE);
    const folder = join(tmpdir(), `rowmill-ingest-${newId()}`);
    folders.push(folder);
    const thread = startFileThread({ kind, folder, ...given }, signal);
    threads.add(thread);
    return thread;
  };
  const stop = (thread: FileThread): Promise<void> => {
    threads.delete(thread);
    return thread.stop();
  };
  try {
    return await work(start, stop);
  } finally {
    isClosed = true;
    await Promise.all([...threads].map((thread) => thread.stop()));
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
}
