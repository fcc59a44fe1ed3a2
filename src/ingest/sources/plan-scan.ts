// Decides what one scan does with each file it found, from the claim rows of these files alone. Pure.
import type { SourceFileRow } from '../../store/views/files/find-source-files.ts';
import type { Settlement, SourceFile, SourceLook } from './source-adapter.ts';

export interface ScanPlan {
  /** Finished, but not moved: the poller died before it moved the file away. */
  settle: { file: SourceFile; settlement: Settlement }[];
  /** Held files without a claim row: the database was replaced, or restored from before they were moved. */
  giveBack: SourceFile[];
  take: { file: SourceFile; how: 'claim' | 'take over' }[];
  /** Held by another poller, or left for the next scan. */
  waiting: number;
}

/** Age at which a held file without a claim row is put back: by then no poller of another database reads it. */
export const ORPHAN_MS = 600_000;

export function planScan(look: SourceLook, rows: Map<string, SourceFileRow>, maxFiles: number): ScanPlan {
  const plan: ScanPlan = { settle: [], giveBack: [], take: [], waiting: 0 };
  const planned = new Set<string>();
  const take = (file: SourceFile, how: 'claim' | 'take over'): void => {
    if (plan.take.length < maxFiles) plan.take.push({ file, how });
    else plan.waiting += 1;
  };
  const planKnown = (file: SourceFile, row: SourceFileRow): void => {
    if (row.state === 'done') plan.settle.push({ file, settlement: { state: 'done' } });
    else if (row.state === 'failed') {
      plan.settle.push({ file, settlement: { state: 'failed', reason: row.reason ?? '' } });
    } else if (row.free) take(file, 'take over');
    else plan.waiting += 1;
  };
  // Held files first: they were offered earlier.
  for (const file of look.held) {
    const row = rows.get(file.fileId);
    planned.add(file.fileId);
    if (row) planKnown(withPathOf(file, row), row);
    else if (file.heldMs >= ORPHAN_MS) plan.giveBack.push(file);
    else plan.waiting += 1;
  }
  for (const file of look.offered) {
    // It was moved between the two listings, and was therefore seen twice.
    if (planned.has(file.fileId)) continue;
    const row = rows.get(file.fileId);
    if (row) planKnown(file, row);
    else take(file, 'claim');
  }
  return plan;
}

/** The name of a held file may be cut, and does not contain its folders. */
function withPathOf(file: SourceFile, row: SourceFileRow): SourceFile {
  return { ...file, path: row.path, name: row.path.slice(row.path.lastIndexOf('/') + 1) };
}
