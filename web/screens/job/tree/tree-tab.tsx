// Rows by parent: rows of the file, and below each the rows that it added, loaded on expand. Follows the ARIA tree
// pattern: arrow keys move, expand and collapse; Enter opens the row.
import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query';
import { ChevronRight } from 'lucide-react';
import { type ReactNode, useCallback, useEffect, useId, useState } from 'react';
import type { z } from 'zod';
import type { treeItem } from '../../../../src/contract/items.ts';
import { rowNumber } from '../../../../src/contract/row-number.ts';
import { FailureNote } from '../../../components/failure-note.tsx';
import { StatusChip } from '../../../components/status-chip.tsx';
import { classNames } from '../../../lib/class-names.ts';
import { client, queries } from '../../../lib/client.ts';
import { formatCount } from '../../../lib/format.ts';
import type { Job } from '../../../lib/job.ts';
import { useJobChange } from '../use-job-change.ts';
import { useJobSearch } from '../use-job-search.ts';
import { walkTree } from './walk-tree.ts';

type TreeItem = z.infer<typeof treeItem>;
type TreePages = InfiniteData<{ items: TreeItem[]; next: string | null }>;

const REFRESH_MS = 3000;
/** The server counts no further. */
const COUNTED_CHILDREN = 1000;

interface Tree {
  jobId: string;
  opened: ReadonlySet<number>;
  toggle: (seq: number) => void;
  /** The part that has the keyboard focus. */
  current: string | null;
  setCurrent: (part: string) => void;
  /** Resets the focus when the part disappears. */
  forget: (part: string) => void;
  openRow: (seq: number) => void;
}

export function TreeTab({ job }: { job: Job }) {
  const { jobId } = job;
  const [, change] = useJobSearch();
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const [current, setCurrent] = useState<string | null>(null);
  const forget = useCallback((part: string) => setCurrent((before) => (before === part ? null : before)), []);
  useJobChange(jobId, REFRESH_MS, () => {
    void queries.invalidateQueries({ queryKey: ['job', jobId, 'tree'] });
  });
  const tree: Tree = {
    jobId,
    opened,
    toggle: (seq) =>
      setOpened((before) => {
        const next = new Set(before);
        if (!next.delete(seq)) next.add(seq);
        return next;
      }),
    current,
    setCurrent,
    forget,
    openRow: (seq) => change({ row: seq }, false),
  };
  return (
    <section aria-label="Hierarchy" className="rounded-lg border border-line bg-surface p-2">
      <div
        role="tree"
        aria-label="Rows by parent"
        onKeyDown={walkTree}
        className="max-h-[max(26rem,calc(100dvh-10rem))] overflow-auto"
      >
        <Level tree={tree} parent={null} level={1} />
      </div>
    </section>
  );
}

function useLevel(jobId: string, parent: number | null) {
  return useInfiniteQuery({
    queryKey: ['job', jobId, 'tree', parent],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listTree(
        {
          jobId,
          ...(parent !== null && { parent }),
          ...(pageParam !== undefined && { after: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

const rowsOf = (data: TreePages): TreeItem[] => data.pages.flatMap(({ items }) => items);

function Level({ tree, parent, level }: { tree: Tree; parent: number | null; level: number }) {
  const query = useLevel(tree.jobId, parent);
  if (query.isError && !query.data) return <FailureNote error={query.error} />;
  if (!query.data) return <Part tree={tree} part={`wait ${parent}`} level={level} label="Loading…" />;
  const rows = rowsOf(query.data);
  const more = `more ${parent}`;
  return (
    <>
      {rows.map((row, at) => (
        <Row key={row.seq} tree={tree} row={row} level={level} isFirst={parent === null && at === 0} />
      ))}
      {query.hasNextPage && (
        <Part
          tree={tree}
          part={more}
          level={level}
          label={query.isFetchingNextPage ? 'Loading…' : 'Show more'}
          onAct={() => {
            // The button may disappear: focus moves to the row before it.
            focusPart(`row ${rows.at(-1)?.seq}`);
            void query.fetchNextPage();
          }}
        />
      )}
    </>
  );
}

function Row({ tree, row, level, isFirst }: { tree: Tree; row: TreeItem; level: number; isFirst: boolean }) {
  const { seq, summary, status, childCount } = row;
  const isOpen = tree.opened.has(seq);
  const hasChildren = childCount > 0;
  return (
    <Part
      tree={tree}
      part={`row ${seq}`}
      level={level}
      isFirst={isFirst}
      {...(hasChildren && { isOpen, onToggle: () => tree.toggle(seq) })}
      onAct={() => tree.openRow(seq)}
      label={
        <>
          <span className="shrink-0 text-[13px] text-muted tabular-nums">{rowNumber(seq)}</span>
          <span className="min-w-0 truncate">{summary ?? `Row ${rowNumber(seq)}`}</span>
          <StatusChip status={status} className="shrink-0" />
          {hasChildren && (
            <span className="shrink-0 text-[13px] text-muted tabular-nums">
              {childCount >= COUNTED_CHILDREN
                ? `${formatCount(COUNTED_CHILDREN)} or more`
                : formatCount(childCount)}{' '}
              below
            </span>
          )}
        </>
      }
    >
      {isOpen && hasChildren && <Level tree={tree} parent={seq} level={level + 1} />}
    </Part>
  );
}

function focusPart(part: string): void {
  document.querySelector<HTMLElement>(`[role="treeitem"][data-part="${part}"]`)?.focus();
}

interface PartProps {
  tree: Tree;
  part: string;
  level: number;
  label: ReactNode;
  /** First in the tab order. */
  isFirst?: boolean;
  /** Undefined: no children. */
  isOpen?: boolean;
  onToggle?: () => void;
  onAct?: () => void;
  children?: ReactNode;
}

function Part({ tree, part, level, label, isFirst = false, isOpen, onToggle, onAct, children }: PartProps) {
  const id = useId();
  const { forget } = tree;
  useEffect(() => () => forget(part), [forget, part]);
  const isCurrent = tree.current === null ? isFirst : tree.current === part;
  return (
    <div
      role="treeitem"
      data-part={part}
      aria-level={level}
      aria-expanded={isOpen}
      aria-labelledby={id}
      tabIndex={isCurrent ? 0 : -1}
      onFocus={(event) => {
        event.stopPropagation();
        tree.setCurrent(part);
      }}
      className="group/part rounded outline-none"
    >
      {/* Keyboard users get the same from walkTree. */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: see above */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: see above */}
      <div
        id={id}
        data-act
        onClick={onAct}
        className={classNames(
          'flex cursor-default items-center gap-2 rounded py-1 pr-2 hover:bg-sunken',
          isCurrent && 'group-focus-visible/part:outline-2 group-focus-visible/part:outline-accent',
        )}
        style={{ paddingLeft: `${(level - 1) * 1.25 + 0.25}rem` }}
      >
        <span
          aria-hidden
          data-toggle={onToggle ? '' : undefined}
          onClick={(event) => {
            if (!onToggle) return;
            event.stopPropagation();
            onToggle();
          }}
          className="flex size-6 shrink-0 items-center justify-center rounded text-muted hover:bg-quiet-soft"
        >
          {onToggle && <ChevronRight size={16} className={isOpen ? 'rotate-90' : ''} />}
        </span>
        {label}
      </div>
      {isOpen && <div role="group">{children}</div>}
    </div>
  );
}
