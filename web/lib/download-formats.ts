// The formats of a download and their query. The last one chosen is remembered in this browser.

export type FormatId = 'csv' | 'excel-csv' | 'xlsx' | 'jsonl';

export interface DownloadFormat {
  formatId: FormatId;
  word: string;
  query: Readonly<Record<string, string>>;
  extension: string;
}

const CSV: DownloadFormat = { formatId: 'csv', word: 'CSV', query: { format: 'csv' }, extension: 'csv' };
const XLSX: DownloadFormat = {
  formatId: 'xlsx',
  word: 'Excel (XLSX)',
  query: { format: 'xlsx' },
  extension: 'xlsx',
};
const JSONL: DownloadFormat = {
  formatId: 'jsonl',
  word: 'JSON Lines',
  query: { format: 'jsonl' },
  extension: 'jsonl',
};

/** Excel needs a byte order mark, and a semicolon where the decimal separator is a comma. */
function excelCsv(delimiter: ',' | ';'): DownloadFormat {
  return {
    formatId: 'excel-csv',
    word: `CSV for Excel (${delimiter === ';' ? 'semicolons' : 'commas'})`,
    query: { format: 'csv', bom: 'true', delimiter },
    extension: 'csv',
  };
}

export interface Source {
  detected: Record<string, unknown>;
}

/** Semicolons if the input file has them, or if the language of the browser has decimal commas. */
export function excelDelimiter(source: Source | null, language: string): ',' | ';' {
  const dialect = source?.detected.csv as { delimiter?: unknown } | undefined;
  if (dialect?.delimiter === ';') return ';';
  return new Intl.NumberFormat(language).format(0.5).includes(',') ? ';' : ',';
}

export function downloadFormats(source: Source | null, language: string): DownloadFormat[] {
  return [CSV, excelCsv(excelDelimiter(source, language)), XLSX, JSONL];
}

const KEY = 'rowmill-download';

export function chosenFormat(
  storage: Pick<Storage, 'getItem'>,
  formats: readonly DownloadFormat[],
): DownloadFormat {
  try {
    const stored = storage.getItem(KEY);
    return formats.find(({ formatId }) => formatId === stored) ?? formats[0]!;
  } catch {
    return formats[0]!;
  }
}

/** A full or blocked storage only loses the choice. */
export function keepFormat(storage: Pick<Storage, 'setItem'>, { formatId }: DownloadFormat): void {
  try {
    storage.setItem(KEY, formatId);
  } catch {
    // The default is used next time.
  }
}
