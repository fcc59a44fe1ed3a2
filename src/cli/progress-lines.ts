/**
 * Turns a snapshot of a job into lines of text: the live block, the one-line form for logs, and the summary. All
 * functions are pure; progress-display.ts writes the lines. Names and error texts are untrusted, so each is made
 * printable before it is measured, cut and coloured.
 */
import { stripVTControlCharacters } from 'node:util';
import { isFinished, type JobState } from '../core/jobs/job-state.ts';
import { windowWords } from '../core/jobs/recent-rate.ts';
import { UNFINISHED_PARTS, UNFINISHED_WORDS, type UnfinishedRows } from '../core/jobs/unfinished-rows.ts';

type ProgressStatus = 'DONE' | 'ERROR' | 'NOT_FOUND' | 'SKIPPED' | 'CANCELLED' | 'PENDING' | 'PROCESSING';

interface ProgressErrorGroup {
  signature: string;
  sample: string;
  /** Failed attempts. */
  count: number;
  /** Rows that ended with it; 0 if every attempt was or will be retried. */
  rows?: number;
  phase: string;
}

export interface ProgressSnapshot {
  jobId: string;
  pipeline: string;
  state: JobState;
  /** Unknown until the input is sealed. */
  total: number | null;
  ingested: number;
  counts: Record<ProgressStatus, number>;
  /** For runs after the first: the number of the run, and the rows that finished in it. */
  rerun?: { number: number; ended: number };
  /** Rows without a result, by what they wait for. */
  unfinished: UnfinishedRows;
  itemsPerSecond: number;
  /** Window of that rate. */
  rateWindowMs: number;
  /** Time left, as a range; `highMs` is null while rows are still being added. Null: unknown. */
  eta: { lowMs: number; highMs: number | null } | null;
  elapsedMs: number;
  errorGroups: readonly ProgressErrorGroup[];
  workers?: number;
  /** The sentence that names the service whose limit determines the speed of the job. */
  limitedBy?: string | null;
  notice?: string;
}

export interface RenderOptions {
  color: boolean;
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan';
type Span = readonly [text: string, style?: Style];
type Line = readonly Span[];

const SGR: Record<Style, readonly [on: number, off: number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
};

const STATE_STYLE: Record<JobState, Style> = {
  INGESTING: 'blue',
  QUEUED: 'blue',
  RUNNING: 'cyan',
  PAUSED: 'yellow',
  FINALIZING: 'cyan',
  DONE: 'green',
  FAILED: 'red',
  CANCELLING: 'magenta',
  CANCELLED: 'magenta',
};

/** In the order of the bar and of the counts. The labels are those of the web page. */
const STATUSES: readonly { status: ProgressStatus; label: string; style: Style; always: boolean }[] = [
  { status: 'DONE', label: 'done', style: 'green', always: true },
  { status: 'NOT_FOUND', label: 'not found', style: 'yellow', always: false },
  { status: 'SKIPPED', label: 'skipped', style: 'blue', always: false },
  { status: 'ERROR', label: 'failed', style: 'red', always: true },
  { status: 'CANCELLED', label: 'cancelled', style: 'magenta', always: false },
  { status: 'PROCESSING', label: 'held by a worker', style: 'cyan', always: true },
  { status: 'PENDING', label: 'waiting', style: 'dim', always: true },
];

/** The label of a status of the API. */
export function statusLabel(status: string): string {
  return STATUSES.find((each) => each.status === status)?.label ?? status.toLowerCase().replace('_', ' ');
}

const FINISHED_STATUSES = STATUSES.filter(({ status }) => status !== 'PENDING' && status !== 'PROCESSING');
const SHOWN_ERROR_GROUPS = 5;
const MAX_BAR_WIDTH = 100;
const PHASE_MIN_WIDTH = 50;
const FIELD_GAP = '   ';

/** No line is wider than `width` columns, whatever the snapshot contains. */
export function renderProgress(snapshot: ProgressSnapshot, width: number, options: RenderOptions): string[] {
  const lines: Line[] = [
    ...flowFields(headerFields(snapshot), width),
    ...barLine(snapshot, width),
    ...flowFields([positionField(snapshot), ...paceFields(snapshot)], width),
    ...flowFields([...finishedFields(snapshot), ...unfinishedFields(snapshot)], width),
    ...errorGroupLines(snapshot, width),
    ...noticeLines(snapshot),
  ];
  return lines.map((line) => paintLine(line, width, options.color));
}

/** The block that stays on the screen after the job: counts, duration, average rate, errors by group. */
export function renderSummary(snapshot: ProgressSnapshot, width: number, options: RenderOptions): string[] {
  const { finished } = positionOf(snapshot);
  const seconds = snapshot.elapsedMs / 1000;
  const pace: Line[] = [[[`took ${formatDuration(snapshot.elapsedMs)}`]]];
  if (finished > 0 && seconds > 0) pace.push([[`${formatRate(finished / seconds)} on average`]]);
  const lines: Line[] = [
    ...flowFields(headerFields(snapshot), width),
    ...flowFields([positionField(snapshot), ...pace], width),
    ...(snapshot.rerun ? [[[`Whole job: ${formatCount(snapshot.total ?? 0)} rows`, 'bold'] as Span]] : []),
    ...countTable(snapshot),
    ...errorGroupLines(snapshot, width),
    ...noticeLines(snapshot),
  ];
  return lines.map((line) => paintLine(line, width, options.color));
}

/** One line for logs, pipes and dumb terminals: no escape codes, same wording as the live block. */
export function renderPlainLine(snapshot: ProgressSnapshot, width = Number.POSITIVE_INFINITY): string {
  const percent = formatPercent(snapshot);
  const position = textOf(positionField(snapshot));
  const head = `${printable(snapshot.pipeline)} ${snapshot.state} ${percent ? `${percent} (${position})` : position}`;
  const [finished, unfinished, pace] = [
    finishedFields(snapshot),
    unfinishedFields(snapshot),
    paceFields(snapshot),
  ];
  const notice = snapshot.notice ? ` - ${printable(snapshot.notice)}` : '';
  const byImportance = [...finished, ...pace, ...unfinished];
  const line = (): string =>
    [
      head,
      ...[...finished, ...unfinished, ...pace].filter((field) => byImportance.includes(field)).map(textOf),
    ].join(', ') + notice;
  while (byImportance.length > 0 && displayWidth(line()) > width) byImportance.pop();
  return truncateToWidth(line(), width);
}

export function formatCount(count: number): string {
  return Number.isFinite(count) ? Math.round(count).toLocaleString('en-US') : '?';
}

export function formatDuration(durationMs: number): string {
  if (!Number.isFinite(durationMs) || durationMs < 0) return '?';
  if (durationMs < 1000) return `${(Math.floor(durationMs / 100) / 10).toFixed(1)}s`;
  const seconds = Math.floor(durationMs / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const two = (value: number) => String(value).padStart(2, '0');
  if (days > 0) return `${formatCount(days)}d ${two(hours % 24)}h`;
  if (hours > 0) return `${hours}h ${two(minutes % 60)}m`;
  if (minutes > 0) return `${minutes}m ${two(seconds % 60)}s`;
  return `${seconds}s`;
}

/** Rates below one row per second are shown per minute. */
export function formatRate(itemsPerSecond: number): string {
  if (!Number.isFinite(itemsPerSecond) || itemsPerSecond < 0) return '? rows/s';
  if (itemsPerSecond > 0 && itemsPerSecond < 1) return `${(itemsPerSecond * 60).toFixed(1)} rows/min`;
  if (itemsPerSecond > 0 && itemsPerSecond < 10) return `${itemsPerSecond.toFixed(1)} rows/s`;
  return `${formatCount(itemsPerSecond)} rows/s`;
}

function headerFields(snapshot: ProgressSnapshot): Line[] {
  const { workers } = snapshot;
  const fields: Line[] = [
    [[printable(snapshot.pipeline), 'bold']],
    [[snapshot.state, STATE_STYLE[snapshot.state]]],
  ];
  if (workers !== undefined && !isOver(snapshot)) {
    fields.push([[`${formatCount(workers)} ${workers === 1 ? 'worker' : 'workers'}`]]);
  }
  fields.push([[`job ${printable(snapshot.jobId)}`, 'dim']]);
  return fields;
}

function positionField(snapshot: ProgressSnapshot): Line {
  const { finished, total } = positionOf(snapshot);
  const run = snapshot.rerun ? `run ${snapshot.rerun.number}: ` : '';
  if (total !== null) return [[`${run}${formatCount(finished)} of ${formatCount(total)} rows`]];
  return [[`${formatCount(snapshot.ingested)} rows read so far`]];
}

function paceFields(snapshot: ProgressSnapshot): Line[] {
  const fields: Line[] = [];
  if (!isOver(snapshot)) {
    fields.push([[`${formatRate(snapshot.itemsPerSecond)} ${windowWords(snapshot.rateWindowMs)}`]]);
    if (snapshot.eta) fields.push([[etaWords(snapshot.eta)]]);
  }
  fields.push([[`elapsed ${formatDuration(snapshot.elapsedMs)}`]]);
  if (snapshot.limitedBy && !isOver(snapshot)) fields.push([[printable(snapshot.limitedBy)]]);
  return fields;
}

function finishedFields({ counts }: ProgressSnapshot): Line[] {
  return FINISHED_STATUSES.filter(({ status, always }) => always || counts[status] > 0).map(
    ({ status, label, style }) => countField(label, counts[status], style),
  );
}

function unfinishedFields({ unfinished }: ProgressSnapshot): Line[] {
  return UNFINISHED_PARTS.filter((part) => unfinished[part] > 0).map((part) =>
    countField(UNFINISHED_WORDS[part], unfinished[part], part === 'running' ? 'cyan' : 'yellow'),
  );
}

export function etaWords({ lowMs, highMs }: NonNullable<ProgressSnapshot['eta']>): string {
  const low = formatDuration(lowMs);
  if (highMs === null) return `ETA at least ${low}`;
  const high = formatDuration(highMs);
  return low === high ? `ETA ${low}` : `ETA ${low} to ${high}`;
}

function countField(label: string, count: number, style: Style): Line {
  return count > 0 ? [[`${label} `], [formatCount(count), style]] : [[`${label} 0`, 'dim']];
}

function countTable(snapshot: ProgressSnapshot): Line[] {
  const rows = STATUSES.filter(({ status }) => status === 'DONE' || snapshot.counts[status] > 0);
  const labelWidth = Math.max(...rows.map(({ label }) => label.length));
  const numbers = rows.map(({ status }) => formatCount(snapshot.counts[status]));
  const numberWidth = Math.max(...numbers.map((number) => number.length));
  return rows.map(({ status, label, style }, index): Line => {
    const share = snapshot.total ? percentText(snapshot.counts[status], snapshot.total) : '';
    const number = numbers[index]!.padStart(numberWidth);
    return [[`  ${label.padEnd(labelWidth)}  `], [number, style], [`  ${share.padStart(6)}`, 'dim']];
  });
}

function errorGroupLines(
  { errorGroups: groups, jobId }: Pick<ProgressSnapshot, 'errorGroups' | 'jobId'>,
  width: number,
): Line[] {
  if (groups.length === 0) return [];
  const sorted = groups.toSorted((a, b) => b.count - a.count);
  const shown = sorted.slice(0, SHOWN_ERROR_GROUPS).map((group) => ({
    count: formatCount(group.count),
    phase: truncateToWidth(printable(group.phase), 14),
    text: `${group.rows === 0 ? 'retried: ' : ''}${printable(group.sample) || printable(group.signature) || '(no message)'}`,
  }));
  const countWidth = Math.max(...shown.map(({ count }) => count.length));
  const phaseWidth = width < PHASE_MIN_WIDTH ? 0 : Math.max(...shown.map(({ phase }) => displayWidth(phase)));
  const lines: Line[] = [
    [
      ['Errors by group', 'bold'],
      [' (attempts, phase, example)', 'dim'],
    ],
  ];
  for (const { count, phase, text } of shown) {
    const phaseSpan: Line =
      phaseWidth === 0 ? [] : [[`${phase}${' '.repeat(phaseWidth - displayWidth(phase))}  `, 'dim']];
    lines.push([['  '], [count.padStart(countWidth), 'red'], [' × '], ...phaseSpan, [text]]);
  }
  if (sorted.length > shown.length)
    lines.push([[`  More groups: rowmill jobs errors ${printable(jobId)}`, 'dim']]);
  return lines;
}

function noticeLines(snapshot: ProgressSnapshot): Line[] {
  return snapshot.notice ? [[[`! ${printable(snapshot.notice)}`, 'yellow']]] : [];
}

function barLine(snapshot: ProgressSnapshot, width: number): Line[] {
  const percent = formatPercent(snapshot);
  if (percent === null) return [];
  const cells = Math.min(MAX_BAR_WIDTH, width - ' 100.0%'.length);
  return [[...(cells > 0 ? barSpans(snapshot, cells) : []), [percent.padStart(' 100.0%'.length)]]];
}

/**
 * Every finished status that occurs keeps at least one cell where there is room, so that a few errors among
 * millions of rows stay visible. The bar is full only when the last row is finished.
 */
function barSpans(snapshot: ProgressSnapshot, cells: number): Span[] {
  const finished = countFinished(snapshot);
  const at = positionOf(snapshot);
  const total = Math.max(at.total ?? 0, at.finished);
  const filled = at.finished === total ? cells : Math.floor((at.finished / total) * cells);
  const inFlight = Math.min(cells - filled, Math.ceil((countOf(snapshot, 'PROCESSING') / total) * cells));

  let seen = 0;
  let drawn = 0;
  const segments = FINISHED_STATUSES.map(({ status, style }) => {
    const count = countOf(snapshot, status);
    seen += count;
    const end = finished === 0 ? 0 : Math.round((seen / finished) * filled);
    const segment = { style, count, cells: end - drawn };
    drawn = end;
    return segment;
  });
  for (const segment of segments) {
    if (segment.count === 0 || segment.cells > 0) continue;
    const widest = segments.reduce((a, b) => (b.cells > a.cells ? b : a));
    if (widest.cells < 2) break;
    widest.cells -= 1;
    segment.cells = 1;
  }
  return [
    ...segments.map(({ cells, style }): Span => ['█'.repeat(cells), style]),
    ['▒'.repeat(inFlight), 'cyan'],
    ['░'.repeat(cells - filled - inFlight), 'dim'],
  ];
}

/** Counts that are read while rows change status may not add up. The display must not throw then. */
function countOf(snapshot: ProgressSnapshot, status: ProgressStatus): number {
  return Math.max(0, snapshot.counts[status]);
}

function countFinished(snapshot: ProgressSnapshot): number {
  return FINISHED_STATUSES.reduce((sum, { status }) => sum + countOf(snapshot, status), 0);
}

/** Progress of the run. In a rerun, `counts` cover the whole job, so only its own rows are counted here. */
function positionOf(snapshot: ProgressSnapshot): { finished: number; total: number | null } {
  const { rerun, total } = snapshot;
  if (!rerun) return { finished: countFinished(snapshot), total };
  const open = countOf(snapshot, 'PENDING') + countOf(snapshot, 'PROCESSING');
  return { finished: rerun.ended, total: rerun.ended + open };
}

function isOver({ state }: ProgressSnapshot): boolean {
  return isFinished(state);
}

/** Null while the total is unknown, and for a job without rows. */
function formatPercent(snapshot: ProgressSnapshot): string | null {
  const { finished, total } = positionOf(snapshot);
  return total ? percentText(finished, total) : null;
}

/** Rounded, but 100.0% means all rows and 0.0% means none. */
function percentText(part: number, total: number): string {
  if (part <= 0) return '0.0%';
  if (part >= total) return '100.0%';
  const tenths = Math.round((part / total) * 1000);
  return tenths === 0 ? '<0.1%' : `${(Math.min(999, tenths) / 10).toFixed(1)}%`;
}

/** Places fields side by side and starts a new line where the next one does not fit. */
function flowFields(fields: readonly Line[], width: number): Line[] {
  const lines: Span[][] = [];
  let used = 0;
  for (const field of fields) {
    const fieldWidth = displayWidth(textOf(field));
    const current = lines.at(-1);
    if (current && used + FIELD_GAP.length + fieldWidth <= width) {
      current.push([FIELD_GAP], ...field);
      used += FIELD_GAP.length + fieldWidth;
    } else {
      lines.push([...field]);
      used = fieldWidth;
    }
  }
  return lines;
}

function textOf(line: Line): string {
  return line.map(([text]) => text).join('');
}

function paintLine(line: Line, width: number, color: boolean): string {
  const spans = displayWidth(textOf(line)) <= width ? line : cutLine(line, width);
  return spans
    .filter(([text]) => text !== '')
    .map(([text, style]) => (color && style ? `\x1b[${SGR[style][0]}m${text}\x1b[${SGR[style][1]}m` : text))
    .join('');
}

function cutLine(line: Line, width: number): Line {
  if (width < 1) return [];
  const kept: Span[] = [];
  let room = width - 1;
  for (const [text, style] of line) {
    const part = takeColumns(text, room);
    kept.push(style ? [part, style] : [part]);
    room -= displayWidth(part);
    if (part !== text) break;
  }
  return [...kept, ['…']];
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const MAX_TEXT_LENGTH = 1000;

/**
 * One line of text that cannot steer a terminal: without escape sequences, control characters, line breaks,
 * invisible and direction-changing characters. Cut to a length that no terminal can show.
 */
export function printable(text: string): string {
  return stripVTControlCharacters(text.slice(0, MAX_TEXT_LENGTH))
    .replace(/\p{Cf}/gu, '')
    .replace(/[\p{Cs}\p{Co}\p{Cn}]/gu, '\ufffd')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

const ZERO_WIDTH = /^[\p{Mn}\p{Me}]$/u;
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18d08}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}])$/u;

/**
 * Columns of a text without escape codes. Terminals disagree about emoji sequences, so this adds up the code points,
 * which is the most that any terminal uses: a line may be cut a little early but never wraps.
 */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const char of text) {
    if (char === '\ufe0f') width += 1;
    else if (!ZERO_WIDTH.test(char)) width += WIDE.test(char) ? 2 : 1;
  }
  return width;
}

function truncateToWidth(text: string, width: number): string {
  return displayWidth(text) <= width ? text : `${takeColumns(text, width - 1)}…`;
}

function takeColumns(text: string, columns: number): string {
  let taken = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += displayWidth(segment);
    if (used > columns) break;
    taken += segment;
  }
  return taken;
}
