import { describe, expect, it } from 'vitest';
import type { SourceFileRow } from '../../store/views/files/find-source-files.ts';
import { ORPHAN_MS, planScan } from './plan-scan.ts';
import type { HeldFile, SourceFile, SourceLook } from './source-adapter.ts';

const file = (fileId: string): SourceFile => ({
  fileId,
  path: `sub/${fileId}.csv`,
  name: `${fileId}.csv`,
  bytes: 1,
  modifiedMs: 0,
});
const held = (fileId: string, heldMs = 0): HeldFile => ({
  ...file(fileId),
  path: 'cut.csv',
  name: 'cut.csv',
  heldMs,
});
const look = (parts: Partial<SourceLook>): SourceLook => ({
  offered: [],
  held: [],
  waiting: [],
  refused: [],
  ...parts,
});
const row = (fileId: string, state: SourceFileRow['state'], free = false): [string, SourceFileRow] => [
  fileId,
  { fileId, path: `sub/${fileId}.csv`, state, jobId: null, reason: state === 'failed' ? 'why' : null, free },
];

describe('a scan', () => {
  it('claims offered files that have no row', () => {
    expect(planScan(look({ offered: [file('a')] }), new Map(), 9)).toEqual({
      settle: [],
      giveBack: [],
      take: [{ file: file('a'), how: 'claim' }],
      waiting: 0,
    });
  });

  it('takes over files that are not held, leaves held files, and settles finished files', () => {
    const rows = new Map([
      row('free', 'taken', true),
      row('busy', 'taken'),
      row('done', 'done'),
      row('failed', 'failed'),
    ]);
    const names = ['free', 'busy', 'done', 'failed'];
    for (const found of [
      look({ offered: names.map(file) }),
      look({ held: names.map((name) => held(name)) }),
    ]) {
      const plan = planScan(found, rows, 9);
      expect(plan.take).toMatchObject([
        { file: { path: 'sub/free.csv', name: 'free.csv' }, how: 'take over' },
      ]);
      expect(plan.settle).toMatchObject([
        { file: { path: 'sub/done.csv' }, settlement: { state: 'done' } },
        { file: { path: 'sub/failed.csv' }, settlement: { state: 'failed', reason: 'why' } },
      ]);
      expect(plan.waiting).toBe(1);
    }
  });

  it('puts back a file in .processing without a row, but only after a while', () => {
    const plan = planScan(look({ held: [held('old', ORPHAN_MS), held('new', ORPHAN_MS - 1)] }), new Map(), 9);
    expect(plan.giveBack.map(({ fileId }) => fileId)).toEqual(['old']);
    expect(plan).toMatchObject({ take: [], waiting: 1 });
  });

  it('plans a file once if it was moved during the scan', () => {
    const plan = planScan(look({ held: [held('a')], offered: [file('a')] }), new Map([row('a', 'taken')]), 9);
    expect(plan).toEqual({ settle: [], giveBack: [], take: [], waiting: 1 });
  });

  it('takes at most the allowed number of files, held files first', () => {
    const found = look({ held: [held('h')], offered: ['a', 'b', 'c'].map(file) });
    const plan = planScan(found, new Map([row('h', 'taken', true)]), 2);
    expect(plan.take.map(({ file: each }) => each.fileId)).toEqual(['h', 'a']);
    expect(plan.waiting).toBe(2);
  });
});
