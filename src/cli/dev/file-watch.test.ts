import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Contents, FileWatch, readContents } from './file-watch.ts';

let folder: string;
let file: string;
const stop = new AbortController();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-file-watch-'));
  file = join(folder, 'module.ts');
  writeFileSync(file, 'before');
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

/** The contents that a watch of the file returns, once it returns some. */
function watched(): { contents: Contents | null; done: Promise<void> } {
  const watch = new FileWatch((_, error) => {
    throw error;
  });
  watch.watch([file]);
  const result: { contents: Contents | null; done: Promise<void> } = {
    contents: null,
    done: Promise.resolve(),
  };
  result.done = watch.next([file], stop.signal).then((contents) => {
    result.contents = contents;
    watch.close();
  });
  return result;
}

test('a file that its editor has emptied is read when it is written', async () => {
  writeFileSync(file, '');
  const result = watched();
  await vi.advanceTimersByTimeAsync(300);
  expect(result.contents).toBeNull();
  writeFileSync(file, 'after');
  await vi.advanceTimersByTimeAsync(60);
  expect(result.contents).toEqual(readContents([file]));
  expect(result.contents!.get(file)).not.toBeNull();
  await result.done;
});

test('a file that stays empty, or is gone, counts as changed after half a second', async () => {
  rmSync(file);
  const result = watched();
  await vi.advanceTimersByTimeAsync(440);
  expect(result.contents).toBeNull();
  await vi.advanceTimersByTimeAsync(100);
  expect(result.contents).toEqual(new Map([[file, null]]));
  await result.done;
});
