// Opens a local file of rows by what it holds, whatever its name, and removes what was unpacked on the way.
import { RowmillError } from '../core/rowmill-error.ts';
import { openCsv } from './formats/csv/read-csv.ts';
import { openImageManifest } from './formats/read-images.ts';
import { openJsonArray } from './formats/read-json-array.ts';
import { openJsonl } from './formats/read-jsonl.ts';
import { openUrlList } from './formats/read-url-list.ts';
import { withXlsx } from './formats/read-xlsx.ts';
import { type UnpackedFile, withUnpacked } from './formats/sniff-format.ts';
import { fitsFormat } from './formats/sniff-text.ts';
import { unguardRows } from './formats/unguard-rows.ts';
import type { FormatName, FormatOptions, ReadLimits, RowReader } from './row-reader.ts';

const NAMES: Record<FormatName, string> = {
  csv: 'a table of text (CSV)',
  xlsx: 'a workbook (XLSX)',
  jsonl: 'JSON lines',
  json: 'a JSON array',
  urls: 'a list of URLs',
  images: 'a manifest of images',
};

/** Runs `work` on the rows of the file; the reader is of no use afterwards. */
export function withRows<T>(
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
  work: (reader: RowReader) => Promise<T>,
): Promise<T> {
  return withUnpacked(path, options, limits, async (file) => {
    const { compression } = file.sniffed;
    const run = (reader: RowReader): Promise<T> =>
      work(
        compression === undefined
          ? reader
          : {
              detected: { ...reader.detected, compression },
              headers: reader.headers,
              rows: () => reader.rows(),
            },
      );
    const format = chooseFormat(file, options.format);
    if (format === 'xlsx') return withXlsx(file.path, options, limits, run);
    return run(await openTextFormat(format, file.path, options, limits));
  });
}

async function openTextFormat(
  format: Exclude<FormatName, 'xlsx'>,
  path: string,
  options: FormatOptions,
  limits: ReadLimits,
): Promise<RowReader> {
  switch (format) {
    case 'csv':
      return unguardRows(await openCsv(path, options, limits));
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

function chooseFormat({ sniffed, text }: UnpackedFile, stated: FormatName | undefined): FormatName {
  const { kind } = sniffed;
  if (kind === 'imageZip') {
    throw new RowmillError('FILE_UNSUPPORTED', 'expected rows, got a zip of images', {
      hint: 'Upload it, or give it to `rowmill run`: the images are stored first and a manifest of them is read.',
    });
  }
  if (stated !== undefined && stated !== kind) {
    if (stated !== 'xlsx' && text !== null && fitsFormat(text, stated)) return stated;
    const found = sniffed.found ?? (kind in NAMES ? NAMES[kind as FormatName] : kind);
    throw new RowmillError('FILE_INVALID', `expected ${NAMES[stated]}, as stated, got ${found}`, {
      hint: sniffed.advice ?? 'Leave the format to be found out, or state the right one.',
    });
  }
  if (kind === 'unsupported' || kind === 'image') {
    throw new RowmillError('FILE_UNSUPPORTED', `expected a file of rows, got ${sniffed.found}`, {
      ...(sniffed.advice === undefined ? {} : { hint: sniffed.advice }),
    });
  }
  return kind;
}
