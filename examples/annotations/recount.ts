// Recounts the annotations from the uploads alone, and compares the result with the counters over the HTTP API: each
// project and document, each document over all projects, each project over all documents, and the total.
import type { Client } from 'rowmill/client';
import type { Counts, Upload } from './generate-uploads.ts';

const MEASURES = ['denotations', 'blocks', 'relations'] as const;
const NOTHING: Counts = { denotations: 0, blocks: 0, relations: 0 };

export class Recount {
  /** Counts by project, then by document. */
  readonly #entries = new Map<string, Map<string, Counts>>();

  take({ mode, lines }: Upload): void {
    for (const { project, document, kept } of lines) {
      if (kept === null) continue;
      const documents = this.#entries.get(project) ?? new Map<string, Counts>();
      this.#entries.set(project, documents);
      documents.set(document, mode === 'replace' ? kept : add(documents.get(document), kept));
    }
  }

  /** Describes every difference. */
  async compare(client: Client): Promise<string[]> {
    const counter = 'annotations';
    const projects = new Map<string, Counts>();
    const documents = new Map<string, Counts>();
    const problems: string[] = [];
    for (const [project, entries] of this.#entries) {
      for (const [document, counts] of entries) {
        projects.set(project, add(projects.get(project), counts));
        documents.set(document, add(documents.get(document), counts));
      }
      const rows = client.pages('listCounterEntities', { counter, scope: project, pageSize: 200 });
      problems.push(...(await differences(`of ${project}`, entries, rows)));
    }
    const pages = { counter, pageSize: 200 };
    problems.push(...(await differences('document', documents, client.pages('listCounterEntities', pages))));
    problems.push(...(await differences('project', projects, client.pages('listCounterScopes', pages))));
    const { total } = await client.getCounter({ counter });
    const sum = [...projects.values()].reduce(add, NOTHING);
    if (!isSame(sum, total)) problems.push(`the total is ${shown(total)}, expected ${shown(sum)}`);
    return problems;
  }

  /** Number of (project, document) pairs and of their annotations. */
  size(): { pairs: number; annotations: number } {
    const all = [...this.#entries.values()].flatMap((documents) => [...documents.values()]);
    const sum = all.reduce(add, NOTHING);
    return { pairs: all.length, annotations: sum.denotations + sum.blocks + sum.relations };
  }
}

async function differences(
  what: string,
  expected: ReadonlyMap<string, Counts>,
  rows: AsyncIterable<{ name: string; measured: Record<string, number> }>,
): Promise<string[]> {
  const problems: string[] = [];
  const unseen = new Map(expected);
  for await (const { name, measured } of rows) {
    const counts = unseen.get(name);
    unseen.delete(name);
    if (!counts) problems.push(`${what}: ${name} is unexpected or duplicated`);
    else if (!isSame(counts, measured))
      problems.push(`${what}: ${name} has ${shown(measured)}, expected ${shown(counts)}`);
  }
  for (const name of unseen.keys()) problems.push(`${what}: ${name} is missing`);
  return problems;
}

function add(a: Counts | undefined, b: Counts): Counts {
  const { denotations, blocks, relations } = a ?? NOTHING;
  return {
    denotations: denotations + b.denotations,
    blocks: blocks + b.blocks,
    relations: relations + b.relations,
  };
}

function isSame(a: Counts, b: Record<string, number>): boolean {
  return MEASURES.every((measure) => a[measure] === b[measure]);
}

function shown(counts: Counts | Record<string, number>): string {
  return MEASURES.map((measure) => (counts as Record<string, number>)[measure]).join('/');
}
