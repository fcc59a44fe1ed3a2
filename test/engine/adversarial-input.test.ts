// No parser or writer takes more than linear time for any input: here 50 KB that make scanners start over. The bound
// on CPU time is wide: these inputs take milliseconds, and took tens of seconds where a scanner was quadratic.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorSignature } from '../../src/core/errors/error-signature.ts';
import type { ExportColumn } from '../../src/core/files/export-columns.ts';
import type { ExportRow } from '../../src/core/files/export-row.ts';
import { mapColumns } from '../../src/core/files/map-columns.ts';
import { parseSeqList } from '../../src/core/items/parse-seq-list.ts';
import { exportCsv } from '../../src/export/export-csv.ts';
import { exportJsonLines } from '../../src/export/export-jsonl.ts';
import { exportXlsx } from '../../src/export/export-xlsx.ts';
import { openCsv } from '../../src/ingest/formats/csv/read-csv.ts';
import { inspectArchive } from '../../src/ingest/formats/inspect-archive.ts';
import { type ImageType, looksLikeSvg } from '../../src/ingest/formats/magic-bytes.ts';
import { measureImage } from '../../src/ingest/formats/measure-image.ts';
import { parseJsonRow } from '../../src/ingest/formats/parse-json-row.ts';
import { openJsonArray } from '../../src/ingest/formats/read-json-array.ts';
import { openJsonl } from '../../src/ingest/formats/read-jsonl.ts';
import { openUrlList } from '../../src/ingest/formats/read-url-list.ts';
import { fitsFormat, sniffText } from '../../src/ingest/formats/sniff-text.ts';
import { dateKindOf, numberText } from '../../src/ingest/formats/xlsx/cell-text.ts';
import { decodeEscapes } from '../../src/ingest/formats/xlsx/shared-strings.ts';
import { openSheetTable } from '../../src/ingest/formats/xlsx/sheet-table.ts';
import { createXmlReader } from '../../src/ingest/formats/xlsx/xml-reader.ts';
import { withZip } from '../../src/ingest/formats/zip-archive.ts';
import type { RowReader } from '../../src/ingest/row-reader.ts';
import { heldName, parseHeldName } from '../../src/ingest/sources/source-file-id.ts';
import { linkOf } from '../../web/lib/link-of.ts';
import { amountIn } from '../../web/screens/job/budget-words.ts';
import { rowsAsTsv } from '../../web/screens/job/items/rows-as-tsv.ts';
import { shippedLimits, useTestFiles } from '../support/file-rows.ts';
import { writeWorkbook } from '../support/workbook-writer.ts';
import { writeZip } from '../support/zip-writer.ts';

const LENGTH = 50_000;
const MAX_CPU_MS = 1000;

const files = useTestFiles();
const limits = shippedLimits();

const TOKENS = [
  ...['<!--', '-->', '<!---->', '<?xml ', '<!doctype', '<', '>', '</', '<a ', '<svg', '<![CDATA[', '?>'],
  ...['&', '&amp;', '&#x', 'r="', 'x:id=', '_x0041_', '_x', '[', ']', '[h', 's.0', '\\', '\\"', '"', '""'],
  ...[
    "'",
    '`',
    '{',
    '}',
    '{"a":',
    '[[',
    '],',
    '0',
    '1',
    '1.0',
    '.',
    ',',
    '-',
    '-1',
    '+',
    'e',
    'E+1',
    '=',
    '@',
  ],
  ...[
    ';',
    '\t',
    '|',
    '||',
    '::',
    ':',
    '~',
    '^',
    ' ',
    '\n',
    '\r',
    '\r\n',
    '/',
    '//',
    'http://',
    'a',
    'a_',
    '#',
  ],
  ...['é', '\ufffd', '\0', '\u2028', '\ud800', '%', '*', 'sep=', 'rowmill_', '../'],
];
const token = fc.constantFrom(...TOKENS);

/** A beginning, a repeated part, and an end that does not match the repetition. */
const hostile = fc
  .tuple(
    fc.array(token, { maxLength: 3 }),
    fc.array(token, { minLength: 1, maxLength: 3 }),
    fc.array(token, { maxLength: 2 }),
  )
  .map(([head, body, tail]) => fill(head.join(''), body.join(''), tail.join('')));

function fill(head: string, body: string, tail: string): string {
  const count = Math.floor((LENGTH - head.length - tail.length) / body.length);
  return head + body.repeat(count) + tail;
}

async function readAll(reader: RowReader): Promise<void> {
  for await (const _ of reader.rows());
}

function readXml(text: string): void {
  const reader = createXmlReader('part', { open: (_, tag) => void tag.attributes.r });
  // The smallest possible pieces: an incomplete tag must not be scanned again for each.
  for (const piece of text) reader.write(piece);
  reader.end();
}

async function readSheet(text: string): Promise<void> {
  const path = files.write(Buffer.from(writeWorkbook({ sheets: [{ name: 'One', data: text }] })));
  await withZip(path, limits, async (archive) => {
    const { rows } = await openSheetTable(archive, {}, limits);
    for await (const _ of rows);
  });
}

const MAGIC: Record<ImageType, string> = {
  png: '\x89PNG\r\n\x1a\n',
  jpeg: '\xff\xd8\xff',
  gif: 'GIF89a',
  webp: 'RIFF    WEBP',
  avif: '    ftypavif',
  heic: '    ftypheic',
  tiff: 'II*\0',
  bmp: 'BM',
};

function measure(text: string): void {
  for (const [type, magic] of Object.entries(MAGIC))
    measureImage(Buffer.from(magic + text, 'latin1'), type as ImageType);
  looksLikeSvg(Buffer.from(text));
}

const columns: ExportColumn[] = [{ header: 'text', source: { from: 'input', key: 'text' } }];

async function* oneRow(text: string): AsyncGenerator<ExportRow[]> {
  const common = { attempts: 1, errorClass: 'permanent', error: text, phase: 0, finishedAtMs: 0 };
  const inputJson = JSON.stringify({ text }).replace(':', ': ');
  yield [{ seq: 0, inputJson, status: 'ERROR', resultJson: null, ...common }];
}

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of chunks);
}

const FORMATS = ['csv', 'json', 'jsonl', 'urls', 'images'] as const;

const CONSUMERS: Record<string, (text: string) => unknown> = {
  sniffing: (text) => sniffText(text, true) && FORMATS.map((format) => fitsFormat(text, format)),
  'a CSV file': async (text) => readAll(await openCsv(files.write(text), {}, limits)),
  'a JSON row': (text) => [text, `{"a":${text}}`].map((json) => parseJsonRow(json, limits)),
  'a JSON array': async (text) => readAll(await openJsonArray(files.write(text), {}, limits)),
  'JSON lines': async (text) => readAll(await openJsonl(files.write(text), {}, limits)),
  'a list of URLs': async (text) => readAll(await openUrlList(files.write(text), {}, limits)),
  XML: (text) => readXml(`<a>${text}`),
  'one XML tag': (text) => readXml(`<a ${text}`),
  'a sheet': readSheet,
  'parts of a cell': (text) => [dateKindOf(text), numberText(text), decodeEscapes(text)],
  'an archive': (text) => {
    // One entry of this size took a quarter of a second; an archive has thousands.
    const parts = Array.from({ length: 12 }, (_, n) => ({ name: `${n}.xml`, data: text }));
    return inspectArchive(files.write(writeZip(parts)), limits);
  },
  'the header of an image': measure,
  'names of columns': (text) => {
    const names = text.split(/[,;\n]/).slice(0, 10_000);
    const fields = names.slice(0, 100).map((name) => ({ name: `${name}x`, required: false }));
    return [mapColumns(names, null), mapColumns(names, fields)];
  },
  'a message of an error': (text) => errorSignature('permanent', text),
  'names of files': (text) => [heldName('1.0123456789abcdef', text), parseHeldName(text)],
  'numbers of rows': parseSeqList,
  'the CSV writer': (text) => drain(exportCsv(oneRow(text), columns)),
  'the XLSX writer': (text) => drain(exportXlsx(oneRow(text), columns)),
  'the JSON lines writer': (text) => drain(exportJsonLines(oneRow(text), columns)),
  'the page': (text) => [linkOf(text), amountIn(text), rowsAsTsv([], [{ title: text, text: () => '' }])],
};

/** CPU time of consuming the text. Refusing it counts too. */
async function cpuMs(consume: (text: string) => unknown, text: string): Promise<number> {
  const before = process.cpuUsage();
  try {
    await consume(text);
  } catch {}
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('50 KB of hostile text are read in time by', () => {
  it.each(Object.entries(CONSUMERS))('%s', async (_, consume) => {
    await fc.assert(
      fc.asyncProperty(hostile, async (text) => {
        expect(await cpuMs(consume, text)).toBeLessThan(MAX_CPU_MS);
      }),
      { numRuns: 12 },
    );
  });
});

describe('an earlier attack is read in time:', () => {
  it.each([
    ['comments before a page', 'sniffing', '<!---->'.repeat(28)],
    ['zeros in a number', 'a JSON row', fill('1.', '0', '1')],
    ['comments that do not end', 'an archive', fill('', '<!--', '')],
    ['a cell that only starts like a number', 'the CSV writer', fill('-', '1', 'x')],
    ['brackets in a format', 'parts of a cell', fill('', '[', '')],
    ['cells with an unclosed quote', 'a CSV file', fill('a,b\n1,', '"x,', '')],
    ['cells with doubled quotes', 'a CSV file', fill('a,b\n1,"', '"",""x,', '')],
    ['blanks after a quote', 'a CSV file', fill('a,b\n1,"', '"  x', '')],
    ['one name for all columns', 'names of columns', fill('', 'a,', '')],
    ['a tag that does not end', 'one XML tag', fill('', 'a="', '')],
  ])('%s', async (_, name, text) => {
    expect(await cpuMs(CONSUMERS[name]!, text)).toBeLessThan(MAX_CPU_MS);
  });
});
