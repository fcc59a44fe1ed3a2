// Stores annotations of documents (denotations on spans of the text, blocks, relations between them) that several projects
// make on the same documents, and keeps exact numbers of them per project and document, per document, and per project.
import { defineCounter, definePipeline } from 'rowmill';
import { z } from 'zod';

export const annotations = defineCounter({
  name: 'annotations',
  scope: 'project',
  entity: 'document',
  measures: ['denotations', 'blocks', 'relations'],
});

const spanned = z.object({
  id: z.string().min(1),
  span: z.object({ begin: z.int(), end: z.int() }),
  obj: z.string(),
});
const relation = z.object({ id: z.string().min(1), subj: z.string(), pred: z.string(), obj: z.string() });

const document = z.object({
  project: z.string().min(1),
  sourcedb: z.string().min(1),
  sourceid: z.string().min(1),
  text: z.string().min(1),
  denotations: z.array(spanned).default([]),
  blocks: z.array(spanned).default([]),
  relations: z.array(relation).default([]),
});

export const upload = definePipeline({
  name: 'annotations',
  // A line that does not fit ends as ERROR, and counts nothing.
  input: document,
  // `replace`: what the project had on these documents is gone. `add`: it stays.
  params: z.object({ mode: z.enum(['add', 'replace']).default('add') }),
  counters: [annotations],
  summary: ['project', 'sourcedb', 'sourceid'],
  outputs: ['jsonl'],
  phases: [
    {
      name: 'store',
      concurrency: 20,
      run: (row, { params, count }) => {
        const denotations = keepOnText(row.denotations, row.text);
        const blocks = keepOnText(row.blocks, row.text);
        const ids = new Set([...denotations, ...blocks].map(({ id }) => id));
        const relations = firstOfEach(row.relations.filter(({ subj, obj }) => ids.has(subj) && ids.has(obj)));
        // What was kept is counted, not what was sent. In the mode `replace` nothing counts, too: then nothing is left.
        count(
          annotations,
          { scope: row.project, entity: `${row.sourcedb}:${row.sourceid}` },
          { denotations: denotations.length, blocks: blocks.length, relations: relations.length },
          params.mode as 'add' | 'replace',
        );
        const sent = row.denotations.length + row.blocks.length + row.relations.length;
        const kept = denotations.length + blocks.length + relations.length;
        return { denotations, blocks, relations, dropped: sent - kept };
      },
    },
  ],
});

/** Those that lie on the text and have an id of their own. */
function keepOnText<T extends z.infer<typeof spanned>>(all: readonly T[], text: string): T[] {
  return firstOfEach(
    all.filter(({ span }) => 0 <= span.begin && span.begin < span.end && span.end <= text.length),
  );
}

function firstOfEach<T extends { id: string }>(all: readonly T[]): T[] {
  const seen = new Set<string>();
  return all.filter(({ id }) => !seen.has(id) && seen.add(id));
}
