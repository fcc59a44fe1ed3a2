/**
 * Generates seeded uploads of annotations: every project first uploads its documents, then more annotations are added,
 * then some documents are replaced, a few of them by empty ones. Projects share documents. Some annotations lie
 * outside their text or refer to missing ids, and some lines are broken. The generator knows which annotations of each
 * line are kept.
 */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline as pipe } from 'node:stream/promises';
import { seededDraw } from '../seeded-draw.ts';

export interface Counts {
  denotations: number;
  blocks: number;
  relations: number;
}

export interface Upload {
  name: string;
  mode: 'add' | 'replace';
  lines: Line[];
}

export interface Line {
  project: string;
  document: string;
  json: object;
  /** Null if the line is broken and ends as ERROR. */
  kept: Counts | null;
}

export interface UploadOptions {
  documents: number;
  seed: number;
}

const PROJECTS = ['GENIA', 'CRAFT/genes', 'PubTator 3', 'disease.ner', 'LitCovid ✓'];
const WORDS = ['cells', 'inhibit', 'the', 'receptor', 'of', 'naïve', 'patients', 'p53', 'in', 'β-catenin'];
const KINDS = ['Gene', 'Disease', 'Chemical', 'Species'];

export function generateUploads({ documents, seed }: UploadOptions): Upload[] {
  const pairs: [string, number][] = [];
  for (let n = 0; n < documents; n += 1)
    for (const project of PROJECTS)
      if (project === PROJECTS[n % PROJECTS.length] || draw('member', project, n) < 0.3)
        pairs.push([project, n]);

  function draw(...key: (string | number)[]): number {
    return seededDraw(seed, ...key);
  }
  const line = (upload: string, project: string, n: number, copy = 0, isEmpty = false): Line =>
    makeLine((...key) => draw(upload, project, n, copy, ...key), project, n, isEmpty);
  const chosen = (upload: string, share: number): [string, number][] =>
    pairs.filter(([project, n]) => draw(upload, 'chosen', project, n) < share);

  const added = chosen('added', 0.5).map(([project, n]) => line('added', project, n));
  // The same document of the same project again, far from its first line: both lines add to it.
  const again = chosen('again', 0.1).map(([project, n]) => line('added', project, n, 1));
  return [
    { name: 'first', mode: 'replace', lines: pairs.map(([project, n]) => line('first', project, n)) },
    { name: 'added', mode: 'add', lines: [...added, ...again] },
    {
      name: 'replaced',
      mode: 'replace',
      lines: chosen('replaced', 0.4).map(([project, n]) =>
        line('replaced', project, n, 0, draw('empty', project, n) < 0.1),
      ),
    },
  ];
}

function makeLine(
  draw: (...key: (string | number)[]) => number,
  project: string,
  n: number,
  isEmpty: boolean,
): Line {
  const upTo = (max: number, ...key: (string | number)[]): number => Math.floor(draw(...key) * (max + 1));
  const [sourcedb, sourceid] = [n % 3 === 0 ? 'PMC' : 'PubMed', String(10_000_000 + n)];
  const document = `${sourcedb}:${sourceid}`;
  // The text belongs to the document, not to the project.
  const text = Array.from({ length: 8 + (n % 20) }, (_, at) => WORDS[(n * 7 + at * 3) % WORDS.length]).join(
    ' ',
  );
  const spans = (what: 'T' | 'B', count: number) =>
    Array.from({ length: count }, (_, at) => {
      const begin = upTo(text.length - 2, what, at);
      const isOff = draw(what, at, 'off') < 0.03;
      const end = isOff ? text.length + 1 + at : begin + 1;
      return { id: `${what}${at + 1}`, span: { begin, end }, obj: KINDS[at % KINDS.length]!, isOff };
    });
  const denotations = isEmpty ? [] : spans('T', upTo(12, 'denotations'));
  const blocks = isEmpty ? [] : spans('B', upTo(3, 'blocks'));
  const ids = [...denotations, ...blocks];
  const relations = ids.slice(1).flatMap(({ id }, at) => {
    const other = draw('relation', at) < 0.05 ? 'T99' : ids[at]!.id;
    return draw('related', at) < 0.4 ? [{ id: `R${at + 1}`, subj: id, pred: 'of', obj: other }] : [];
  });
  // Adds a denotation with a duplicate id.
  const twice = denotations.length > 0 && draw('twice') < 0.05 ? [denotations[0]!] : [];
  const isBroken = draw('broken') < 0.005;
  const shown = (all: typeof denotations): object[] => all.map(({ id, span, obj }) => ({ id, span, obj }));
  const json = {
    project,
    sourcedb,
    sourceid,
    text: isBroken ? '' : text,
    ...((denotations.length > 0 || isEmpty) && { denotations: shown([...denotations, ...twice]) }),
    ...(blocks.length > 0 && { blocks: shown(blocks) }),
    ...(relations.length > 0 && { relations }),
  };
  const off = new Set(ids.filter(({ isOff }) => isOff).map(({ id }) => id));
  const isHere = (id: string): boolean => id !== 'T99' && !off.has(id);
  const kept = {
    denotations: denotations.filter(({ isOff }) => !isOff).length,
    blocks: blocks.filter(({ isOff }) => !isOff).length,
    relations: relations.filter(({ subj, obj }) => isHere(subj) && isHere(obj)).length,
  };
  return { project, document, json, kept: isBroken ? null : kept };
}

export async function writeUpload(path: string, { lines }: Upload): Promise<void> {
  function* texts(): Generator<string> {
    for (const { json } of lines) yield `${JSON.stringify(json)}\n`;
  }
  await pipe(Readable.from(texts()), createWriteStream(path));
}
