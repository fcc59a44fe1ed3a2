// Opens a local file of rows by its content, regardless of its name. Runs in the thread of file-thread.ts.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { FormatName, FormatOptions, ReadLimits, RowReader } from '../row-reader.ts';
import { openCsv } from './csv/read-csv.ts';
import { openImageManifest } from './read-images.ts';
import { openJsonArray } from './read-json-array.ts';
import { openJsonl } from './read-jsonl.ts';
import { openUrlList } from './read-url-list.ts';
import type { UnpackedFile } from './sniff-format.ts';
import { fitsFormat } from './sniff-text.ts';

const NAMES: Record<FormatName, string> = {
  csv: 'a table of text (CSV)',
  xlsx: 'a workbook (XLSX)',
  jsonl: 'JSON lines',
  json: 'a JSON array',
  urls: 'a list of URLs',
  images: 'an image manifest',
};

export function openTextFormat(
  format: Exclude<FormatName, 'xlsx'>,
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
  wantsTop = false,
): Promise<RowReader> {
  switch (format) {
    case 'csv':
      return openCsv(path, options, limits, wantsTop);
    case 'jsonl':
      return openJsonl(path, options, limits);
    case 'json':
      return openJsonArray(path, options, limits);
    case 'urls':
      return openUrlList(path, options, limits);
    case 'images':
      return openImageManifest(path, limits);
  }
}

/** Refuses a file without rows, and a file that is not of the stated format. */
export function chooseFormat({ sniffed, text }: UnpackedFile, stated: FormatName | undefined): FormatName {
  const { kind } = sniffed;
  if (kind === 'imageZip') {
    throw new RowmillError('FILE_UNSUPPORTED', 'expected rows, got a zip of images', {
      hint: 'Upload it, or pass it to `rowmill run`: both store the images first and then read a manifest of them.',
    });
  }
  if (stated !== undefined && stated !== kind) {
    if (stated !== 'xlsx' && text !== null && fitsFormat(text, stated)) return stated;
    const found = sniffed.found ?? (kind in NAMES ? NAMES[kind as FormatName] : kind);
    throw new RowmillError('FILE_INVALID', `expected ${NAMES[stated]}, as stated, got ${found}`, {
      hint: sniffed.advice ?? 'Leave the format out to have it detected, or state the right one.',
    });
  }
  if (kind === 'unsupported' || kind === 'image') {
    const code = sniffed.isBroken ? 'FILE_INVALID' : 'FILE_UNSUPPORTED';
    throw new RowmillError(code, `expected a file of rows, got ${sniffed.found}`, {
      ...(sniffed.advice === undefined ? {} : { hint: sniffed.advice }),
    });
  }
  return kind;
}
