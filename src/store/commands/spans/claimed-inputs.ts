// Inputs of claimed items: the part of the claim statement that reads them, and the parser of its answer.

export interface ClaimedItem {
  seq: number;
  input: string;
  previous: string | null;
}

// Reads the inputs of lease `l` as lines of seq, input and the output of the previous phase, up to the byte limit
// but at least one. Items beyond the limit stay leased, and the worker returns them. JSON text holds no raw tab or
// line break, and one long value costs a third of a row per item (1.1 against 3.1 us per item on the server, 0.1
// against 0.8 in the driver). Index: items_pkey. The `limit` does not change the result. It keeps the planner from
// joining the other way round, over all items.
export const inputLines = (withPrevious: boolean, withEdits: boolean): string => {
  const edit = withEdits
    ? `left join lateral (select e.input, e.input_bytes from item_edits e where e.job_id = $1 and e.seq = i.seq
                   and e.generation <= l.generation order by e.generation desc limit 1) e on true`
    : '';
  const input = withEdits
    ? 'coalesce(e.input, i.input) as input, coalesce(e.input_bytes, i.input_bytes) as input_bytes'
    : 'i.input, i.input_bytes';
  const previous = withPrevious
    ? `left join lateral (select o.output, o.output_bytes from stage_outputs o where o.job_id = $1 and o.seq = i.seq
                 and o.generation <= l.generation and o.phase = $2::int - 1 order by o.generation desc limit 1) o on true`
    : '';
  const bytes = withPrevious ? 'i.input_bytes + coalesce(o.output_bytes, 0)' : 'i.input_bytes';
  return `
             select string_agg(i.seq || E'\\t' || i.input::text${withPrevious ? ` || E'\\t' || coalesce(i.previous::text, '')` : ''}, E'\\n')
             from (
               select i.seq, i.input${withPrevious ? ', o.output as previous' : ''},
                      sum(${bytes}) over (order by i.seq rows unbounded preceding) - (${bytes}) as bytes_before
               from unnest(l.items) as u(r)
               cross join lateral (
                 select i.seq, ${input}
                 from items i
                 ${edit}
                 where i.job_id = $1 and i.seq >= lower(u.r) and i.seq < upper(u.r)
                 order by i.seq
                 limit upper(u.r) - lower(u.r)
               ) i
               ${previous}
             ) i
             where i.bytes_before < $4::bigint`;
};

export function parseInputLines(lines: string): ClaimedItem[] {
  if (lines === '') return [];
  return lines.split('\n').map((line) => {
    const inputAt = line.indexOf('\t') + 1;
    const inputEnd = line.indexOf('\t', inputAt);
    return {
      seq: Number(line.slice(0, inputAt - 1)),
      input: inputEnd < 0 ? line.slice(inputAt) : line.slice(inputAt, inputEnd),
      previous: inputEnd < 0 || inputEnd + 1 === line.length ? null : line.slice(inputEnd + 1),
    };
  });
}
