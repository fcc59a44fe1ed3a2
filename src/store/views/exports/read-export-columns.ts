// The columns of a job's rows: columns of the input, and keys of the results up to a generation. Reads the columns
// that ingest and flush stored; if there are none, it samples the first rows.
import { type ColumnNames, PLAIN_RESULT_COLUMN } from '../../../core/files/export-columns.ts';
import type { InputColumn } from '../../../core/items/input-column.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { resultsBetween } from '../results/stored-results.ts';

const SAMPLE_ROWS = 1000;

// A column of several generations keeps its first position. The empty name marks keys beyond the limit.
const RESULT_COLUMNS: Statement = {
  name: 'read-result-columns',
  text: `
    select name, min(position) as position from result_columns
    where job_id = $1 and generation <= $2
    group by name
    order by position, name collate "C"`,
};
// For jobs that were stored before ingest stored their columns.
const INPUT_KEYS: Statement = {
  name: 'sample-input-keys',
  text: `
    select k.name
    from items i cross join lateral jsonb_object_keys(i.input) with ordinality as k(name, place)
    where i.job_id = $1 and i.seq >= 0 and i.seq < $2
    group by k.name
    order by min(i.seq), min(k.place), k.name collate "C"`,
};
// For results that were flushed before the table of result columns existed.
const RESULT_KEYS: Statement = {
  name: 'sample-result-keys',
  text: `
    select k.name
    from ${resultsBetween('0', '$3')} r
    cross join lateral jsonb_object_keys(
      case jsonb_typeof(r.result) when 'object' then r.result else jsonb_build_object($4::text, null) end
    ) with ordinality as k(name, place)
    where r.generation <= $2
      and r.result is not null and r.result <> 'null'
    group by k.name
    order by min(r.seq), min(k.place), k.name collate "C"`,
};

export async function readExportColumns(
  db: Executor,
  job: { jobId: string; inputColumns: readonly InputColumn[]; itemCount: number },
  generation: number,
): Promise<ColumnNames> {
  const input = job.inputColumns.length > 0 ? job.inputColumns : await sampleInput(db, job.jobId);
  return { input, ...(await readResultColumns(db, job, generation)) };
}

async function sampleInput(db: Executor, jobId: string): Promise<InputColumn[]> {
  const rows = await db.runArrays(INPUT_KEYS, [jobId, SAMPLE_ROWS]);
  return rows.map(([key]) => ({ key: key as string, header: key as string }));
}

async function readResultColumns(
  db: Executor,
  job: { jobId: string; itemCount: number },
  generation: number,
): Promise<Pick<ColumnNames, 'result' | 'hasMore'>> {
  const known = await db.runArrays(RESULT_COLUMNS, [job.jobId, generation]);
  const rows =
    known.length > 0
      ? known
      : await db.runArrays(RESULT_KEYS, [job.jobId, generation, SAMPLE_ROWS, PLAIN_RESULT_COLUMN]);
  const names = rows.map(([name]) => name as string);
  // Rows after the sample may have other keys, which need a column.
  const isPartial = known.length === 0 && names.length > 0 && job.itemCount > SAMPLE_ROWS;
  return { result: names.filter((name) => name !== ''), hasMore: isPartial || names.includes('') };
}
