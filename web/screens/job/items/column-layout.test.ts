import { describe, expect, test } from 'vitest';
import type { Item } from '../../../lib/job.ts';
import {
  arrangeColumns,
  keepLayout,
  moveColumn,
  pinColumn,
  readLayout,
  resizeColumn,
  showColumn,
  USUAL_LAYOUT,
} from './column-layout.ts';
import { gridColumns } from './grid-columns.ts';

const columns = gridColumns({
  format: null,
  columns: [
    { key: 'sku', header: 'SKU' },
    { key: 'price', header: 'price' },
  ],
  resultColumns: ['price', 'currency'],
});

const shown = (layout = USUAL_LAYOUT) =>
  arrangeColumns(columns, layout)
    .filter(({ isShown }) => isShown)
    .map(({ columnId }) => columnId);
const USUAL = ['status', 'input:sku', 'result:price', 'result:currency', 'error', 'input:price'];

describe('columns of the grid', () => {
  test('are those of the file and of the result, named as in exports', () => {
    expect(shown()).toEqual(USUAL);
    const named = columns.filter(({ group }) => group !== 'Row').map(({ exported }) => exported);
    expect(named).toEqual(['SKU', 'result_price', 'currency', 'error', 'price']);
  });

  test('hold what exports hold, always as text', () => {
    const item = {
      input: { sku: '<script>', price: 5 },
      result: { price: null, currency: { code: 'EUR' } },
      status: 'DONE',
    } as unknown as Item;
    const texts = [1, 5, 2, 3].map((at) => columns[at]!).map(({ text }) => text(item));
    expect(texts).toEqual(['<script>', '5', '', '{"code":"EUR"}']);
  });

  const wide = (fileColumns: number, resultColumns: number, layout = USUAL_LAYOUT) =>
    arrangeColumns(
      gridColumns({
        format: null,
        columns: Array.from({ length: fileColumns }, (_, at) => ({ key: `c${at}`, header: `c${at}` })),
        resultColumns: Array.from({ length: resultColumns }, (_, at) => `r${at}`),
      }),
      layout,
    );
  const shownOf = (columns: ReturnType<typeof wide>, group: string) =>
    columns.filter((column) => column.group === group && column.isShown).length;

  test('are all shown and exported, however wide the file is', () => {
    const columns = wide(300, 40);
    expect(shownOf(columns, 'Input')).toBe(300);
    // The error is part of the result.
    expect(shownOf(columns, 'Result')).toBe(41);
    expect(columns.filter(({ isExported }) => isExported).length).toBe(342);
  });

  test('have results beside the column that identifies the row, and errors before them where all rows failed', () => {
    const file = {
      format: null,
      columns: [
        { key: 'a', header: 'a' },
        { key: 'b', header: 'b' },
      ],
      resultColumns: ['r'],
    };
    const ids = (errorsFirst: boolean) =>
      gridColumns({ ...file, errorsFirst }).map(({ columnId }) => columnId);
    expect(ids(false).slice(0, 5)).toEqual(['status', 'input:a', 'result:r', 'error', 'input:b']);
    expect(ids(true).slice(0, 5)).toEqual(['status', 'input:a', 'error', 'result:r', 'input:b']);
  });

  test('are exported without those that the user hid', () => {
    const hidden = showColumn(showColumn(USUAL_LAYOUT, 'input:c2', false), 'result:r0', false);
    const names = wide(4, 2, hidden).flatMap(({ isExported, exported }) => (isExported ? [exported] : []));
    expect(names).toEqual(['status', 'c0', 'r1', 'error', 'c1', 'c3']);
  });
});

describe('an arrangement of columns', () => {
  test('hides and shows', () => {
    const layout = showColumn(showColumn(USUAL_LAYOUT, 'input:sku', false), 'attempts', true);
    expect(shown(layout)).toEqual([
      'status',
      'result:price',
      'result:currency',
      'error',
      'input:price',
      'attempts',
    ]);
  });

  test('moves past hidden columns, and not beyond the ends', () => {
    const hidden = showColumn(USUAL_LAYOUT, 'input:price', false);
    const moved = moveColumn(arrangeColumns(columns, hidden), hidden, 'input:sku', 1);
    expect(shown(moved)).toEqual(['status', 'result:price', 'input:sku', 'result:currency', 'error']);
    const first = moveColumn(arrangeColumns(columns, hidden), hidden, 'status', -1);
    expect(first).toBe(hidden);
  });

  test('puts pinned columns first', () => {
    const layout = pinColumn(pinColumn(USUAL_LAYOUT, 'error', true), 'result:price', true);
    expect(shown(layout).slice(0, 3)).toEqual(['result:price', 'error', 'status']);
    const unpinned = pinColumn(pinColumn(layout, 'error', false), 'result:price', false);
    expect(shown(unpinned)).toEqual(USUAL);
  });

  test('bounds widths', () => {
    const width = (px: number) =>
      arrangeColumns(columns, resizeColumn(USUAL_LAYOUT, 'error', px)).find(
        ({ columnId }) => columnId === 'error',
      )!.widthPx;
    expect([width(5), width(333.3), width(99_999)]).toEqual([60, 333, 1200]);
  });

  test('puts new columns at their default place', () => {
    const fewer = gridColumns({ format: null, columns: [{ key: 'sku', header: 'SKU' }], resultColumns: [] });
    const moved = moveColumn(arrangeColumns(fewer, USUAL_LAYOUT), USUAL_LAYOUT, 'error', -1);
    expect(shown(moved)).toEqual([
      'status',
      'error',
      'input:price',
      'input:sku',
      'result:price',
      'result:currency',
    ]);
  });

  test('is kept per pipeline, and forgotten when it cannot be read', () => {
    const kept = new Map<string, string>();
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
    };
    const layout = pinColumn(USUAL_LAYOUT, 'error', true);
    keepLayout(storage, 'prices', layout);
    expect(readLayout(storage, 'prices')).toEqual(layout);
    expect(readLayout(storage, 'other')).toEqual(USUAL_LAYOUT);
    kept.set('rowmill-columns prices', '{"order":5}');
    expect(readLayout(storage, 'prices')).toEqual(USUAL_LAYOUT);
    kept.set('rowmill-columns prices', 'no json');
    expect(readLayout(storage, 'prices')).toEqual(USUAL_LAYOUT);
  });
});

test('rows of image jobs have a column with the image, named by its file, whatever the fields are called', () => {
  const [, image] = gridColumns({
    format: 'images',
    columns: [
      { key: 'picture', header: 'blob' },
      { key: 'title', header: 'file' },
    ],
    resultColumns: [],
  });
  const item = { input: { picture: 'images/ab', title: 'a.png' } } as unknown as Item;
  expect(image).toMatchObject({ columnId: 'image', isImage: true, exported: null });
  expect(image!.text(item)).toBe('a.png');
  expect(image!.text({ input: { title: 'a.png' } } as unknown as Item)).toBe('');
});
