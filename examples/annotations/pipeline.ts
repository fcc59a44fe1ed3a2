// Stores annotations of documents (denotations on spans of the text, blocks, and relations between them) from several
// projects, and keeps exact counts per project and document, per document, and per project.
import { defineCounter, definePipeline } from 'rowmill';
import { z } from 'zod';
import { type Span, spanAligner } from './align-span.ts';
import { storeAnnotations, textOf } from './annotation-store.ts';

export const counter = defineCounter({
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
  // An invalid line ends as ERROR and counts nothing.
  input: document,
  // `replace` deletes the project's earlier annotations of these documents; `add` keeps them.
  params: z.object({ mode: z.enum(['add', 'replace']).default('add') }),
  counters: [counter],
  summary: ['project', 'sourcedb', 'sourceid'],
  outputs: ['jsonl'],
  phases: [
    {
      name: 'store',
      concurrency: 20,
      run: async (row, { params: { mode }, count, jobId, seq }) => {
        const { project } = row;
        const document = `${row.sourcedb}:${row.sourceid}`;
        const align = spanAligner(row.text, await textOf(document, row.text));
        const denotations = keepOnText(row.denotations, row.text, align);
        const blocks = keepOnText(row.blocks, row.text, align);
        const ids = new Set([...denotations, ...blocks].map(({ id }) => id));
        const relations = firstOfEach(row.relations.filter(({ subj, obj }) => ids.has(subj) && ids.has(obj)));
        const annotations = { denotations, blocks, relations };
        await storeAnnotations({ project, document, jobId, seq, mode, annotations });
        // Only stored annotations count. In mode `replace`, a line without annotations sets the count to 0.
        count(
          counter,
          { scope: project, entity: document },
          { denotations: denotations.length, blocks: blocks.length, relations: relations.length },
          mode,
        );
        const sent = row.denotations.length + row.blocks.length + row.relations.length;
        const kept = denotations.length + blocks.length + relations.length;
        return { ...annotations, dropped: sent - kept };
      },
    },
  ],
});

/** Keeps annotations inside the text, moves them to the stored text, and drops duplicate ids. */
function keepOnText<T extends z.infer<typeof spanned>>(
  all: readonly T[],
  text: string,
  align: (span: Span) => Span | null,
): T[] {
  const onText = all.filter(
    ({ span }) => 0 <= span.begin && span.begin < span.end && span.end <= text.length,
  );
  return firstOfEach(
    onText.flatMap((each) => {
      const span = align(each.span);
      return span === null ? [] : [{ ...each, span }];
    }),
  );
}

function firstOfEach<T extends { id: string }>(all: readonly T[]): T[] {
  const seen = new Set<string>();
  return all.filter(({ id }) => !seen.has(id) && seen.add(id));
}
