// Options to read a stored file again, as it was detected the first time, so that every read returns the same rows.
import type { FormatOptions, JobSource } from '../core/files/file-format.ts';
import type { Settings } from '../platform/settings.ts';
import type { ReadLimits } from './row-reader.ts';

export function optionsToReadAgain({ options, detected }: JobSource): FormatOptions {
  const { csv } = detected;
  return {
    ...options,
    format: detected.format,
    found: detected,
    ...(csv && {
      encoding: csv.encoding,
      delimiter: csv.delimiter,
      quote: csv.quote,
      escape: csv.escape,
      header: csv.header,
      skipLines: csv.skipLines,
    }),
    ...(detected.sheet !== undefined && { sheet: detected.sheet }),
  };
}

export function readLimits(settings: Settings): ReadLimits {
  return {
    maxColumns: settings.ingestMaxColumns,
    maxCellBytes: settings.ingestMaxCellBytes,
    maxRowBytes: settings.ingestMaxRowBytes,
    inflateMaxBytes: settings.inflateMaxBytes,
    inflateMaxRatio: settings.inflateMaxRatio,
    archiveMaxEntries: settings.archiveMaxEntries,
    fileBusyMs: settings.fileBusyMs,
    xlsxMemoryMb: settings.xlsxMemoryMb,
    imageMaxBytes: settings.imageMaxBytes,
    imageMaxPixels: settings.imageMaxPixels,
  };
}
