// The columns of the grid, with the names and values of the exports.

import { imageKeys } from '../../../../src/contract/image-keys.ts';
import {
  type CellSource,
  cellText,
  exportColumns,
  PLAIN_RESULT_COLUMN,
} from '../../../../src/core/files/export-columns.ts';
import { formatCost, formatDuration, formatExact } from '../../../lib/format.ts';
import type { Item, Job } from '../../../lib/job.ts';

export interface GridColumn {
  /** Stable across the jobs of a pipeline. */
  columnId: string;
  title: string;
  group: 'File' | 'Result' | 'Row';
  /** Name in exports. Null: not exported. */
  exported: string | null;
  /** Visible by default. */
  isUsual: boolean;
  widthPx: number;
  text: (item: Item) => string;
  /** Shows the image of the row; the text is its file name. */
  isImage?: boolean;
}

/** Number of columns visible by default. All result columns are; file columns get the rest. */
const USUAL_COLUMNS = 24;
/** File columns visible however many result columns there are: they identify the row. */
const LEAST_FILE_COLUMNS = 6;

export interface ColumnedJob extends Pick<Job, 'columns' | 'resultColumns'> {
  /** Format of the input file. Null: the rows did not come from a file. */
  format: string | null;
}

export function gridColumns(job: ColumnedJob): GridColumn[] {
  const named = exportColumns({ input: job.columns, result: job.resultColumns, hasMore: false });
  const fileColumns = Math.max(LEAST_FILE_COLUMNS, USUAL_COLUMNS - job.resultColumns.length);
  const columns = named.map(({ header, source }, at): GridColumn => {
    const column = columnOf(source);
    const isUsual = column.isUsual && (source.from !== 'input' || at < fileColumns);
    return { ...column, title: column.group === 'Row' ? column.title : header, exported: header, isUsual };
  });
  const [status] = columns.splice(
    columns.findIndex(({ columnId }) => columnId === 'status'),
    1,
  );
  return [status!, ...imageColumn(job), ...columns, ...UNEXPORTED];
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
        group: 'File',
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
        ...row,
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

const UNEXPORTED: readonly GridColumn[] = [
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
    text: ({ cost }) => (cost === null ? '' : formatCost(cost)),
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
