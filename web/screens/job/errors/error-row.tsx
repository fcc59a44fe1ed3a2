// One error group in the table: pattern, rows, trend, who can fix it, cost of a retry, and its actions.
import {
  ChevronDown,
  ChevronRight,
  Download,
  Ellipsis,
  ListFilter,
  Pencil,
  RotateCcw,
  SkipForward,
} from 'lucide-react';
import { useId, useState } from 'react';
import { formatCost } from '../../../../src/core/limits/format-cost.ts';
import { Button } from '../../../components/button.tsx';
import { checkBoxClass } from '../../../components/check-field.tsx';
import { Menu, MenuItem, MenuLink } from '../../../components/menu.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { Sparkline } from '../../../components/sparkline.tsx';
import { cellClass, numberClass, rowClass } from '../../../components/table.tsx';
import { classNames } from '../../../lib/class-names.ts';
import { errorClassWords } from '../../../lib/error-class-words.ts';
import { formatCount, formatDuration, formatPercent } from '../../../lib/format.ts';
import { costPerRow, type ErrorGroup, type Job } from '../../../lib/job.ts';
import { usePermission } from '../../../lib/permission.ts';
import { basePath } from '../../../lib/server-page.ts';
import { useJobSearch } from '../use-job-search.ts';
import { ErrorExamples } from './error-examples.tsx';
import { fixerWords } from './fixer-words.ts';
import { groupsExport } from './group-selection.ts';
import type { GroupAction, GroupAllowance } from './group-actions.ts';

const COLUMNS = 9;

export interface ErrorRowProps {
  job: Job;
  group: ErrorGroup;
  /** Rows of all groups with the same status. */
  statusRows: number;
  /** Time range of all groups. */
  span: { fromMs: number; toMs: number };
  allowed: GroupAllowance;
  isSelected: boolean;
  onSelect: (isSelected: boolean) => void;
  onAct: (action: GroupAction) => void;
}

export function ErrorRow(props: ErrorRowProps) {
  const { job, group, statusRows, span, isSelected, onSelect } = props;
  const { signature, pattern, errorClass, rows, phase, firstSeen, lastSeen, fixer, suggestion, status } =
    group;
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const text = pattern === '' ? signature : pattern;
  const each = costPerRow(job);
  const Arrow = isOpen ? ChevronDown : ChevronRight;
  return (
    <>
      <tr className={classNames(rowClass, isOpen && 'border-0')}>
        <td className={cellClass}>
          <input
            type="checkbox"
            className={checkBoxClass}
            aria-label={`Select ${text}`}
            disabled={rows === 0}
            checked={isSelected}
            onChange={({ target }) => onSelect(target.checked)}
          />
        </td>
        <td className={classNames(cellClass, 'min-w-60')}>
          <button
            type="button"
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setOpen(!isOpen)}
            className="flex items-start gap-1 text-left hover:underline"
          >
            <Arrow size={16} aria-hidden className="mt-0.5 shrink-0 text-muted" />
            <span className="line-clamp-2 font-medium break-words">
              <Pattern text={text} />
            </span>
          </button>
          <p className="pl-5 text-[13px] text-muted">
            {status === 'ERROR' ? 'Failed' : 'Not found'} ·{' '}
            {status === 'ERROR' && `${errorClassWords(errorClass)} · `}
            {job.phases[phase] ?? phase}
          </p>
        </td>
        <td className={numberClass}>{formatCount(rows)}</td>
        <td className={numberClass}>
          {rows === 0 ? '—' : formatPercent(rows / statusRows)}
          <Bar share={rows === 0 ? 0 : rows / statusRows} tone={status === 'ERROR' ? 'bg-bad' : 'bg-warn'} />
        </td>
        <td className={classNames(cellClass, '[&_svg]:w-20')}>
          {group.trend.counts.length > 0 && <Trend group={group} span={span} />}
        </td>
        <td className={classNames(cellClass, 'text-[13px] whitespace-nowrap text-muted')}>
          <p>
            first <RelativeTime at={firstSeen} />
          </p>
          <p>
            last <RelativeTime at={lastSeen} />
          </p>
        </td>
        <td className={classNames(cellClass, 'min-w-40 text-[13px]')}>
          <p className="font-medium">{fixerWords(fixer)}</p>
          <p className="text-muted">{suggestion}</p>
        </td>
        <td className={numberClass}>{each === null ? '—' : `≈ ${formatCost(each * rows, job.costUnit)}`}</td>
        <td className={cellClass}>
          <Actions {...props} />
        </td>
      </tr>
      {isOpen && (
        <tr id={id} className="border-b border-line last:border-0">
          <td />
          <td colSpan={COLUMNS - 1} className="px-3 pb-3 pl-8">
            {/* As wide as the table, never wider. */}
            <div className="w-0 min-w-full">
              <ErrorExamples job={job} group={group} />
            </div>
          </td>
        </tr>
      )}
    </>
  );
}

/** Placeholders such as <value> stand out from the words of the message. */
function Pattern({ text }: { text: string }) {
  return text.split(/(<[a-z]{1,10}>)/).map((part, at) =>
    at % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts stay where they are
      <span key={at} className="rounded bg-quiet-soft px-1 font-mono text-xs font-normal text-quiet">
        {part.slice(1, -1)}
      </span>
    ) : (
      part
    ),
  );
}

function Bar({ share, tone }: { share: number; tone: string }) {
  return (
    <span aria-hidden className="mt-1 block h-1 w-16 overflow-hidden rounded-full bg-quiet-soft">
      <span className={`block h-full ${tone}`} style={{ width: `${share * 100}%` }} />
    </span>
  );
}

function Trend({ group, span }: Pick<ErrorRowProps, 'group' | 'span'>) {
  const { from, stepMs, counts } = group.trend;
  const fromMs = Date.parse(from);
  const label = `Over time: at most ${formatCount(Math.max(...counts))} in ${formatDuration(stepMs)}, ${formatCount(counts.at(-1)!)} in the last`;
  return <Sparkline {...span} steps={{ fromMs, stepMs, counts }} label={label} />;
}

function Actions({ job, group, allowed, onAct }: ErrorRowProps) {
  const [, change] = useJobSearch();
  const { can } = usePermission();
  const { signature, phase, rows } = group;
  const hasRows = rows > 0;
  const download = groupsExport([group]);
  const show = () =>
    change({ tab: undefined, errorGroup: signature, phase, statuses: undefined, search: undefined }, false);
  return (
    <div className="flex justify-end gap-1">
      <Button size="small" aria-label="Show rows" title="Show rows" disabled={!hasRows} onClick={show}>
        <ListFilter size={14} aria-hidden />
      </Button>
      <Menu
        label={<Ellipsis size={14} aria-hidden />}
        bare
        name={`More actions for ${signature}`}
        size="small"
      >
        {can('reprocessJob') && (
          <MenuItem disabled={!allowed.canRun || !hasRows} onSelect={() => onAct('retry')}>
            <RotateCcw size={15} aria-hidden /> Retry…
          </MenuItem>
        )}
        {can('previewErrorEdit', 'editErrors') && (
          <MenuItem disabled={!allowed.canChange || !hasRows} onSelect={() => onAct('edit')}>
            <Pencil size={15} aria-hidden /> Edit a field and retry…
          </MenuItem>
        )}
        {can('skipErrors') && (
          <MenuItem disabled={!allowed.canChange || !hasRows} onSelect={() => onAct('skip')}>
            <SkipForward size={15} aria-hidden /> Skip…
          </MenuItem>
        )}
        {can('exportJob') && download !== null && (
          <MenuLink href={`${basePath}/api/v1/jobs/${job.jobId}/export?${download}`} download>
            <Download size={15} aria-hidden /> Download rows
          </MenuLink>
        )}
      </Menu>
    </div>
  );
}
