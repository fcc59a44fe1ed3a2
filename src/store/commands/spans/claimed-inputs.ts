// Inputs of claimed items: the part of the claim statement that reads them, and the parser of its answer.

import type { ClaimedOutputs } from '../../../core/items/earlier-outputs.ts';

export interface ClaimedItem extends ClaimedOutputs {
  seq: number;
  input: string;
}

/** Outputs of earlier phases that a claim reads besides the inputs. */
export type ReadOutputs = 'none' | 'previous' | 'all';

// Reads the inputs of lease `l` as lines of seq, input and outputs of earlier phases, up to the byte limit
// but at least one. Items beyond the limit stay leased, and the worker returns them. JSON text holds no raw tab or
// line break, and one long value costs a third of a row per item (1.1 against 3.1 us per item on the server, 0.1
// against 0.8 in the driver). Index: items_pkey. The `limit` does not change the result. It keeps the planner from
// joining the other way round, over all items.
//
// The outputs of all phases of an item are neighbours in stage_outputs_pkey, so `all` reads one range of the index, as
// `previous` does, and a heap row per phase. Only phases that ask for them use it.
const OUTPUTS: Record<ReadOutputs, string> = {
  none: '',
  previous: `left join lateral (select o.output, o.output_bytes from stage_outputs o where o.job_id = $1 and o.seq = i.seq
                 and o.generation <= l.generation and o.phase = $2::int - 1 order by o.generation desc limit 1) o on true`,
  all: `left join lateral (select jsonb_object_agg(n.phase, n.output) as output, sum(n.output_bytes)::bigint as output_bytes
                 from (select distinct on (o.phase) o.phase, o.output, o.output_bytes from stage_outputs o
                       where o.job_id = $1 and o.seq = i.seq and o.generation <= l.generation and o.phase < $2::int
                       order by o.phase, o.generation desc) n) o on true`,
};

export const inputLines = (reads: ReadOutputs, withEdits: boolean): string => {
  const withOutput = reads !== 'none';
  const edit = withEdits
    ? `left join lateral (select e.input, e.input_bytes from item_edits e where e.job_id = $1 and e.seq = i.seq
                   and e.generation <= l.generation order by e.generation desc limit 1) e on true`
    : '';
  const input = withEdits
    ? 'coalesce(e.input, i.input) as input, coalesce(e.input_bytes, i.input_bytes) as input_bytes'
    : 'i.input, i.input_bytes';
  const bytes = withOutput ? 'i.input_bytes + coalesce(o.output_bytes, 0)' : 'i.input_bytes';
  return `
             select string_agg(i.seq || E'\\t' || i.input::text${withOutput ? ` || E'\\t' || coalesce(i.output::text, '')` : ''}, E'\\n')
             from (
               select i.seq, i.input${withOutput ? ', o.output' : ''},
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
               ${OUTPUTS[reads]}
             ) i
             where i.bytes_before < $4::bigint`;
};

export function parseInputLines(lines: string, reads: ReadOutputs): ClaimedItem[] {
  if (lines === '') return [];
  const readsAll = reads === 'all';
  return lines.split('\n').map((line) => {
    const inputAt = line.indexOf('\t') + 1;
    const inputEnd = line.indexOf('\t', inputAt);
    const output = inputEnd < 0 || inputEnd + 1 === line.length ? null : line.slice(inputEnd + 1);
    return {
      seq: Number(line.slice(0, inputAt - 1)),
      input: inputEnd < 0 ? line.slice(inputAt) : line.slice(inputAt, inputEnd),
      previous: readsAll ? null : output,
      outputs: readsAll ? (output ?? '{}') : null,
    };
  });
}
