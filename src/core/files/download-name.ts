// Names of downloaded files, after the file that the job read: products.csv gives products-results.csv.
import { withoutTrailing } from './without-trailing.ts';

export interface NamedJob {
  jobId: string;
  name: string;
  /** The current run. */
  generation: number;
  source: { name: string } | null;
}

export interface NamedFile {
  /** Such as results, unsuccessful, rejected or summary. */
  part: string;
  extension: string;
  /** The run that the file belongs to. Default: the current one. */
  generation?: number | null | undefined;
  isFiltered?: boolean;
}

const LONGEST = 100;
/** Extensions of input files, also of compressed ones. Other dots are part of a name: "prices v1.2". */
const EXTENSIONS = /(?:\.(?:csv|tsv|txt|tab|psv|xlsx|xlsm|xls|jsonl|ndjson|json|zip|gz|urls))+$/i;
/** Characters that a file system refuses, that lead to another folder, or that change the text direction. */
const UNSAFE = /[\p{Cc}/\\<>:"|?*\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

export function downloadName(job: NamedJob, file: NamedFile): string {
  const parts = [stemOf(job), file.part];
  if (file.isFiltered) parts.push('filtered');
  // The newest results have the plain name; files of earlier runs name their run.
  if (file.generation != null && file.generation !== job.generation) parts.push(`run-${file.generation}`);
  return `${parts.join('-')}.${file.extension}`;
}

function stemOf({ jobId, name, source }: NamedJob): string {
  const given = source?.name ?? name;
  const stem = given
    .replace(/^.*[/\\]/, '')
    .replace(EXTENSIONS, '')
    .replace(UNSAFE, '_')
    .replace(/^[\s.]+/, '');
  return [...withoutTrailing(stem, '. \t\n')].slice(0, LONGEST).join('') || `rowmill-${jobId.slice(0, 8)}`;
}
