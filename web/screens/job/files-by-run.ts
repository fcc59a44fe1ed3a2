// The files of a job in groups: the newest results first, then generated files, the input, and earlier runs.
import type { JobFile } from '../../lib/job.ts';

export interface FileGroup {
  title: string;
  /** Results of earlier runs are folded. */
  isEarlier: boolean;
  files: JobFile[];
}

export function filesByRun(files: readonly JobFile[], generation: number): FileGroup[] {
  const newestFirst = files.toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  const outputs = newestFirst.filter(({ kind }) => kind === 'output');
  const runs = [...new Set(outputs.map((file) => file.generation ?? 1))].sort((a, b) => b - a);
  const [newest] = runs;
  const ofRun = (run: number): JobFile[] => outputs.filter((file) => (file.generation ?? 1) === run);
  const groups: FileGroup[] = [
    {
      title: generation > 1 && newest !== undefined ? `Results after run ${newest} (newest)` : 'Results',
      isEarlier: false,
      files: newest === undefined ? [] : ofRun(newest),
    },
    {
      title: 'Generated files',
      isEarlier: false,
      files: newestFirst.filter(({ kind }) => kind === 'export'),
    },
    { title: 'Input', isEarlier: false, files: newestFirst.filter(({ kind }) => kind === 'input') },
    ...runs.slice(1).map((run) => ({
      title: `Results after run ${run} (earlier)`,
      isEarlier: true,
      files: ofRun(run),
    })),
  ];
  return groups.filter((group) => group.files.length > 0);
}

const CONTENTS: Record<string, string> = {
  results: 'All rows with their results',
  done: 'Rows that are done',
  error: 'Failed rows',
  not_found: 'Rows not found',
  skipped: 'Skipped rows',
  cancelled: 'Cancelled rows',
  unsuccessful: 'Failed and not-found rows, to correct and upload again',
  rejected: "Lines that couldn't be read",
  summary: 'Counts, cost and times',
};

/** Empty for files whose name a person chose. */
export function contentWords({ kind, name }: JobFile): string {
  return kind === 'output' ? (CONTENTS[name.slice(0, name.lastIndexOf('.'))] ?? '') : '';
}
