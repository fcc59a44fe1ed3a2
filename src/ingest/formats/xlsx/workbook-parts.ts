// Finds the parts of a workbook: its sheets in order, and the parts that hold their strings and styles. Reads only the
// small parts.
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import type { ZipArchive, ZipEntry } from '../zip-archive.ts';
import { builtInDateKind, type DateKind, dateKindOf } from './cell-text.ts';
import { readXml, type XmlHandler, type XmlTag } from './xml-reader.ts';

/** Limited because each sheet may have to be read to its end to see that it is empty. */
const MAX_SHEETS = 1000;

export interface WorkbookParts {
  sheets: WorkbookSheet[];
  date1904: boolean;
  sharedStrings: ZipEntry | null;
  styles: ZipEntry | null;
}

export interface WorkbookSheet {
  name: string;
  visible: boolean;
  entry: ZipEntry;
}

interface Relationship {
  /** The last word of its type: worksheet, styles … */
  type: string;
  target: string;
}

export async function readWorkbookParts(archive: ZipArchive): Promise<WorkbookParts> {
  const byName = new Map(archive.entries.map((entry) => [entry.name.toLowerCase(), entry]));
  const find = (name: string) => byName.get(name.toLowerCase());
  const rootRelations = find('_rels/.rels');
  const roots = rootRelations ? await readRelationships(archive, rootRelations, '') : new Map();
  const workbookName = targetOf(roots, 'officeDocument') ?? 'xl/workbook.xml';
  const workbook = find(workbookName);
  if (workbook === undefined) throw incomplete(workbookName);
  const slash = workbookName.lastIndexOf('/') + 1;
  const folder = workbookName.slice(0, slash);
  const relationsEntry = find(`${folder}_rels/${workbookName.slice(slash)}.rels`);
  const relations = relationsEntry ? await readRelationships(archive, relationsEntry, folder) : new Map();

  const sheets: WorkbookSheet[] = [];
  let date1904 = false;
  let root: XmlTag | null = null;
  await readPart(archive, workbook, {
    open(name, tag) {
      root ??= tag;
      // Extensions reuse names of the main namespace: x15:workbookPr is not about dates.
      if (!isMain(tag, root)) return;
      if (name === 'workbookPr') date1904 = /^(1|true)$/.test(tag.attributes.date1904 ?? '');
      if (name !== 'sheet') return;
      const relation = relations.get(relationId(tag));
      // Chart sheets and dialog sheets have no cells.
      if (relation?.type !== 'worksheet') return;
      const entry = find(relation.target);
      if (entry === undefined) throw incomplete(relation.target);
      // Some programs write other values for visible sheets.
      const visible = !/^(hidden|veryHidden)$/.test(tag.attributes.state ?? '');
      if (sheets.some((sheet) => sheet.entry === entry)) throw namedTwice(relation.target);
      if (sheets.length >= MAX_SHEETS) throw tooManySheets();
      sheets.push({ name: tag.attributes.name ?? '', visible, entry });
    },
  });
  const optional = (type: string): ZipEntry | null => {
    const target = targetOf(relations, type);
    return (target === undefined ? undefined : find(target)) ?? null;
  };
  return { sheets, date1904, sharedStrings: optional('sharedStrings'), styles: optional('styles') };
}

const MAIN_NAMESPACES = [
  'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  'http://purl.oclc.org/ooxml/spreadsheetml/main',
];

/** Whether an element is in the main namespace, by the declaration for its prefix in the element or the root. */
function isMain(tag: XmlTag, root: XmlTag): boolean {
  const prefix = prefixOf(tag);
  const declaration = prefix === '' ? 'xmlns' : `xmlns:${prefix}`;
  const namespace = tag.attributes[declaration] ?? root.attributes[declaration];
  return namespace === undefined ? prefix === prefixOf(root) : MAIN_NAMESPACES.includes(namespace);
}

function prefixOf({ name }: XmlTag): string {
  return name.slice(0, Math.max(0, name.indexOf(':')));
}

/** Whether the sheet shows a pivot table: its cells are computed from another sheet. */
export async function showsPivot(archive: ZipArchive, { entry }: WorkbookSheet): Promise<boolean> {
  const slash = entry.name.lastIndexOf('/') + 1;
  const name = `${entry.name.slice(0, slash)}_rels/${entry.name.slice(slash)}.rels`.toLowerCase();
  const relations = archive.entries.find((each) => each.name.toLowerCase() === name);
  if (relations === undefined) return false;
  const found = await readRelationships(archive, relations, entry.name.slice(0, slash));
  return [...found.values()].some(({ type }) => type === 'pivotTable');
}

/** The date kind of each style, by style number. */
export async function readDateStyles(
  archive: ZipArchive,
  entry: ZipEntry | null,
): Promise<(DateKind | null)[]> {
  const styles: (DateKind | null)[] = [];
  if (entry === null) return styles;
  const codes = new Map<number, string>();
  let inCellFormats = false;
  await readPart(archive, entry, {
    open(name, tag) {
      if (name === 'cellXfs') inCellFormats = true;
      else if (name === 'numFmt') codes.set(Number(tag.attributes.numFmtId), tag.attributes.formatCode ?? '');
      else if (name === 'xf' && inCellFormats) {
        const id = Number(tag.attributes.numFmtId ?? 0);
        const code = codes.get(id);
        styles.push(code === undefined ? builtInDateKind(id) : dateKindOf(code));
      }
    },
    close(name) {
      if (name === 'cellXfs') inCellFormats = false;
    },
  });
  return styles;
}

async function readRelationships(
  archive: ZipArchive,
  entry: ZipEntry,
  folder: string,
): Promise<Map<string, Relationship>> {
  const found = new Map<string, Relationship>();
  await readPart(archive, entry, {
    open(name, tag) {
      if (name !== 'Relationship' || tag.attributes.TargetMode === 'External') return;
      const type = (tag.attributes.Type ?? '').split('/').at(-1)!;
      found.set(tag.attributes.Id ?? '', {
        type,
        target: resolve(folder, tag.attributes.Target ?? ''),
      });
    },
  });
  return found;
}

async function readPart(archive: ZipArchive, entry: ZipEntry, handler: XmlHandler): Promise<void> {
  for await (const _ of readXml(archive.inflate(entry), entry.name, handler));
}

function relationId({ attributes }: XmlTag): string {
  const prefixed = Object.keys(attributes).find((name) => name.endsWith(':id'));
  return prefixed === undefined ? '' : attributes[prefixed]!;
}

function targetOf(relations: Map<string, Relationship>, type: string): string | undefined {
  for (const relation of relations.values()) if (relation.type === type) return relation.target;
  return undefined;
}

function resolve(folder: string, target: string): string {
  if (target.startsWith('/')) return target.slice(1);
  const parts: string[] = [];
  for (const part of `${folder}${target}`.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return parts.join('/');
}

function namedTwice(part: string): RowmillError {
  return new RowmillError(
    'FILE_INVALID',
    `expected every sheet of the workbook to have its own part, got ${part} for two sheets`,
    { hint: 'Open the file in a spreadsheet program and save it again.' },
  );
}

function tooManySheets(): RowmillError {
  return new RowmillError('FILE_TOO_LARGE', `expected a workbook of at most ${MAX_SHEETS} sheets, got more`, {
    hint: 'Split the workbook, or save the sheet as CSV.',
  });
}

function incomplete(name: string): RowmillError {
  return new RowmillError(
    'FILE_INVALID',
    `expected the workbook to contain ${name}, got a workbook without it`,
    {
      hint: 'Open the file in a spreadsheet program and save it again.',
    },
  );
}
