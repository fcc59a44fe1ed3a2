// The columns of the grid, with the names and values of the exports. Results and errors are beside the column that
// identifies the row; the rest of the input follows.

import { formatCost } from '../../../../src/core/limits/format-cost.ts';
import { imageKeys } from '../../../../src/contract/image-keys.ts';
import {
  type CellSource,
  cellText,
  exportColumns,
  PLAIN_RESULT_COLUMN,
} from '../../../../src/core/files/export-columns.ts';
import { formatDuration, formatExact } from '../../../lib/format.ts';
import type { Item, Job } from '../../../lib/job.ts';

export interface GridColumn {
  /** Stable across the jobs of a pipeline. */
  columnId: string;
  title: string;
  group: 'Input' | 'Result' | 'Row';
  /** Name in exports. Null: not exported. */
  exported: string | null;
  /** Visible by default. */
  isUsual: boolean;
  widthPx: number;
  text: (item: Item) => string;
  /** Shows the image of the row; the text is its file name. */
  isImage?: boolean;
}

export interface ColumnedJob extends Pick<Job, 'columns' | 'resultColumns'> {
  /** Format of the input file. Null: the rows did not come from a file. */
  format: string | null;
  /** The view has only rows without a result: errors come before results. */
  errorsFirst?: boolean;
  /** Unit of costs; left out: unknown. */
  costUnit?: string | null;
}

export function gridColumns(job: ColumnedJob): GridColumn[] {
  const named = exportColumns({ input: job.columns, result: job.resultColumns, hasMore: false });
  const columns = named.map(({ header, source }): GridColumn => {
    const column = columnOf(source);
    const isNamed = source.from === 'input' || source.from === 'result';
    return { ...column, title: isNamed ? header : column.title, exported: header };
  });
  const of = (match: (column: GridColumn) => boolean): GridColumn[] => columns.filter(match);
  const [key, ...input] = of(({ group }) => group === 'Input');
  const results = of(({ columnId }) => columnId.startsWith('result:'));
  const errors = of(({ columnId }) => columnId === 'error');
  return [
    ...of(({ columnId }) => columnId === 'status'),
    ...imageColumn(job),
    ...(key ? [key] : []),
    ...(job.errorsFirst ? [...errors, ...results] : [...results, ...errors]),
    ...input,
    ...of(({ columnId }) => columnId === 'attempts'),
    ...unexported(job.costUnit ?? null),
  ];
}

function imageColumn({ columns, format }: ColumnedJob): GridColumn[] {
  const keys = imageKeys(columns, format);
  if (!keys) return [];
  return [
    {
      columnId: 'image',
      title: 'Image',
      group: 'Row',
      exported: null,
      isUsual: true,
      widthPx: 72,
      isImage: true,
      text: ({ input }) => (fieldText(input, keys.blob) === '' ? '' : fieldText(input, keys.name)),
    },
  ];
}

type Unnamed = Omit<GridColumn, 'exported'>;

function columnOf(source: CellSource): Unnamed {
  const row = { group: 'Row', widthPx: 120 } as const;
  switch (source.from) {
    case 'input':
      return {
        columnId: `input:${source.key}`,
        title: source.key,
        group: 'Input',
        isUsual: true,
        widthPx: 170,
        text: ({ input }) => fieldText(input, source.key),
      };
    case 'result':
      return {
        columnId: `result:${source.name}`,
        title: source.name,
        group: 'Result',
        isUsual: true,
        widthPx: 170,
        text: ({ result }) => resultText(result, source.name),
      };
    case 'error':
      return {
        group: 'Result',
        columnId: 'error',
        title: 'Error',
        isUsual: true,
        widthPx: 280,
        text: (item) => item.error ?? '',
      };
    case 'attempts':
      return {
        ...row,
        columnId: 'attempts',
        title: 'Attempts',
        isUsual: false,
        widthPx: 100,
        text: (item) => cellText(item.attempts),
      };
    default:
      return { ...row, columnId: 'status', title: 'Status', isUsual: true, text: (item) => item.status };
  }
}

const unexported = (costUnit: string | null): readonly GridColumn[] => [
  {
    columnId: 'handlerMs',
    title: 'Duration',
    group: 'Row',
    exported: null,
    isUsual: false,
    widthPx: 100,
    text: ({ handlerMs }) => (handlerMs === null ? '' : formatDuration(handlerMs)),
  },
  {
    columnId: 'cost',
    title: 'Cost',
    group: 'Row',
    exported: null,
    isUsual: false,
    widthPx: 100,
    text: ({ cost }) => (cost === null ? '' : formatCost(cost, costUnit)),
  },
  {
    columnId: 'finishedAt',
    title: 'Finished',
    group: 'Row',
    exported: null,
    isUsual: false,
    widthPx: 190,
    text: ({ finishedAt }) => (finishedAt === null ? '' : formatExact(finishedAt)),
  },
];

function fieldText(record: unknown, key: string): string {
  if (record === null || typeof record !== 'object' || Array.isArray(record)) return '';
  return Object.hasOwn(record, key) ? cellText((record as Record<string, unknown>)[key]) : '';
}

/** A result that is not an object is shown in one column. */
function resultText(result: unknown, name: string): string {
  const isRecord = result !== null && typeof result === 'object' && !Array.isArray(result);
  if (isRecord) return fieldText(result, name);
  return name === PLAIN_RESULT_COLUMN ? cellText(result) : '';
}
