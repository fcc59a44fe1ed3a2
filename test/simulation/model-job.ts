// The model of a job, pure: the state of every item by the documented rules, without spans, statements or locks.
// Commands apply events to it, and the database must then agree.

import { addFailure, NO_FAILURES } from '../../src/core/errors/failure-counts.ts';
import { type ErrorClass, ITEM_STATUSES, type ItemStatus } from '../../src/core/items/outcome.ts';
import { eachSeq } from '../../src/core/items/seq-ranges.ts';
import type { JobState } from '../../src/core/jobs/job-state.ts';
import { crashMessage, EXPIRED_ONCE, MAX_CRASHES } from '../../src/core/retries/crash-policy.ts';
import type { RecordedOutcome } from '../../src/engine/flush/flush-outcomes.ts';
import type { ReprocessRequest } from '../../src/engine/reprocess/reprocess-job.ts';
import type { OpenedGeneration } from '../../src/store/commands/jobs/open-generation.ts';
import { type ModelContribution, takeBack } from './model-counters.ts';

export const PHASES = ['first', 'second'];
export const LAST_PHASE = PHASES.length - 1;
/** Small, so that a run reaches them. */
export const EMIT_BOUNDS = { emitMaxDepth: 2, emitMaxItems: 14 };
const MAX_ATTEMPTS_EVER = 50;

/** Where an item waits or is leased. */
export interface Place {
  generation: number;
  phase: number;
  attempt: number;
  failures: string;
  crashes: number;
  priority: number;
  /** Waits for a retry that is not due. */
  delayed: boolean;
  /** Held by a trial. */
  held: boolean;
  token: string | null;
}

export interface ModelResult {
  generation: number;
  phase: number;
  attempt: number;
  status: ItemStatus;
  errorClass: ErrorClass | null;
  /** The result or the error. */
  text: string | null;
}

export interface ModelItem {
  key: string | null;
  depth: number;
  /** Inputs; the last one is current. */
  words: { generation: number; word: string }[];
  /** Outputs of the first phase, oldest first. */
  outputs: { generation: number; json: string }[];
  results: ModelResult[];
  /** Its contributions, including replaced ones. */
  counted: ModelContribution[];
  /** Null when it is finished. */
  place: Place | null;
}

/** A lease as the worker remembers it, whether or not the database agrees. */
export interface ModelLease {
  spanId: number;
  token: string;
  worker: string;
  phase: number;
  attempt: number;
  failures: string;
  crashes: number;
  priority: number;
  generation: number;
  /** Items without a recorded outcome. */
  seqs: number[];
  expired: boolean;
}

export interface ModelSummary {
  generation: number;
  state: 'DONE' | 'CANCELLED';
  total: number;
  counts: Record<ItemStatus, number>;
  diff: {
    reprocessed: number;
    fixed: number;
    newlyFailed: number;
    newlyNotFound: number;
    unchanged: number;
    otherResult: number;
    added: number;
  } | null;
}

export interface Model {
  items: ModelItem[];
  state: JobState;
  sealed: boolean;
  started: boolean;
  cancelled: boolean;
  /** Items from this seq on are held; null: none. */
  trial: number | null;
  generation: number;
  hasEdits: boolean;
  /** Leases that the database knows. */
  held: ModelLease[];
  /** Lost or returned leases: zombies may still use their tokens. */
  dead: ModelLease[];
  fenced: number;
  emitted: { stored: number; known: number; twiceInFlush: number; tooDeep: number; tooMany: number };
  /** Halted finalizers, by number, with their generation. */
  endings: { id: number; generation: number }[];
  /** The holder of the finalize lease, alive or not; null: none. */
  ending: { id: number; expired: boolean } | null;
  summaries: ModelSummary[];
  /** Generations that were not finished when the next one was opened: they have no summary. */
  continued: number[];
  /** How often each counter entry was replaced. */
  epochs: Record<string, number>;
  /** Numbers of contributions taken back, and of those that a replacement had already voided. */
  counters: { takenBack: number; void: number };
}

export function newModel({ hold, trial }: { hold: boolean; trial: number | null }): Model {
  return {
    items: [],
    state: hold ? 'PAUSED' : 'INGESTING',
    sealed: false,
    started: false,
    cancelled: false,
    trial,
    generation: 1,
    hasEdits: false,
    held: [],
    dead: [],
    fenced: 0,
    emitted: { stored: 0, known: 0, twiceInFlush: 0, tooDeep: 0, tooMany: 0 },
    endings: [],
    ending: null,
    summaries: [],
    continued: [],
    epochs: {},
    counters: { takenBack: 0, void: 0 },
  };
}

// Queries.

const CLAIMABLE: readonly JobState[] = ['INGESTING', 'QUEUED', 'RUNNING'];

export const openSeqs = (model: Model): number[] =>
  model.items.flatMap((item, seq) => (item.place === null ? [] : [seq]));
export const isFinished = ({ state }: Model): boolean => state === 'DONE' || state === 'CANCELLED';
export const takesItems = ({ sealed, state }: Model): boolean =>
  !sealed && (state === 'INGESTING' || state === 'PAUSED');
export const wordOf = (item: ModelItem): string => item.words.at(-1)!.word;

/** Places of the items that can be claimed now. */
export function claimablePlaces(model: Model): Place[] {
  if (!CLAIMABLE.includes(model.state)) return [];
  return model.items.flatMap(({ place }) =>
    place && place.token === null && !place.delayed && !place.held ? [place] : [],
  );
}

// Items.

function freshPlace(generation: number, priority: number, held: boolean): Place {
  return {
    generation,
    phase: 0,
    attempt: 0,
    failures: NO_FAILURES,
    crashes: 0,
    priority,
    delayed: false,
    held,
    token: null,
  };
}

export function addItem(model: Model, word: string): void {
  const held = model.trial !== null && model.items.length >= model.trial;
  model.items.push({
    key: null,
    depth: 0,
    words: [{ generation: 1, word }],
    outputs: [],
    results: [],
    counted: [],
    place: freshPlace(model.generation, 0, held),
  });
}

export interface WantedChild {
  key: string;
  word: string;
  priority: number;
  parentSeq: number;
}

/** Adds the children of one flush: each key once per job, within the bounds, by priority. */
export function addChildren(model: Model, generation: number, wanted: WantedChild[]): void {
  const { items, emitted } = model;
  const known = new Set(items.map((item) => item.key));
  const fresh = new Map<string, WantedChild>();
  for (const child of wanted) {
    if (items[child.parentSeq]!.depth >= EMIT_BOUNDS.emitMaxDepth) emitted.tooDeep += 1;
    else if (known.has(child.key)) emitted.known += 1;
    else if (fresh.has(child.key)) emitted.twiceInFlush += 1;
    else fresh.set(child.key, child);
  }
  const room = Math.max(0, EMIT_BOUNDS.emitMaxItems - items.length);
  const sorted = [...fresh.values()].sort((a, b) => b.priority - a.priority);
  emitted.tooMany += sorted.slice(room).length;
  for (const { key, word, priority, parentSeq } of sorted.slice(0, room)) {
    emitted.stored += 1;
    items.push({
      key,
      depth: items[parentSeq]!.depth + 1,
      words: [{ generation, word }],
      outputs: [],
      results: [],
      counted: [],
      place: freshPlace(generation, priority, false),
    });
  }
}

export function applyOutcome(model: Model, lease: ModelLease, outcome: RecordedOutcome): void {
  const item = model.items[outcome.seq]!;
  const { generation, phase, priority } = lease;
  if (outcome.kind === 'advance') {
    item.outputs.push({ generation, json: outcome.json! });
    item.place = { ...freshPlace(generation, priority, false), phase: phase + 1 };
  } else if (outcome.kind === 'retry') {
    const failures = addFailure(lease.failures, outcome.failure!.class);
    const attempt = lease.attempt + 1;
    item.place = { ...item.place!, token: null, attempt, failures, crashes: 0, delayed: outcome.delayMs > 0 };
  } else {
    item.place = null;
    item.results.push({
      generation,
      phase,
      attempt: lease.attempt + 1,
      status: outcome.status,
      errorClass: outcome.failure?.class ?? null,
      text: outcome.json ?? outcome.failure?.message ?? null,
    });
  }
}

export function forgetLease(model: Model, lease: ModelLease): void {
  model.held = model.held.filter((other) => other !== lease);
  if (lease.seqs.length > 0) model.dead.push(lease);
}

/** The first expiry of a lease is not a crash. */
function expireLeases(model: Model, leases: ModelLease[]): number {
  const isFirst = ({ seqs }: ModelLease): boolean =>
    seqs.every((seq) => model.items[seq]!.place!.crashes === 0);
  for (const lease of leases.filter(isFirst)) {
    for (const seq of lease.seqs)
      Object.assign(model.items[seq]!.place!, { token: null, crashes: EXPIRED_ONCE });
    forgetLease(model, lease);
  }
  return crashLeases(
    model,
    leases.filter((lease) => model.held.includes(lease)),
  );
}

/**
 * A lone item is blamed for the crash; for several items only the first crash counts. Returns the number of failed
 * items.
 */
export function crashLeases(model: Model, leases: ModelLease[]): number {
  let failed = 0;
  for (const lease of leases) {
    const lone = lease.seqs.length === 1;
    for (const seq of lease.seqs) {
      const item = model.items[seq]!;
      const place = item.place!;
      place.token = null;
      place.crashes = lone ? Math.max(place.crashes, 0) + 1 : Math.max(place.crashes, 1);
      if (!lone || place.crashes < MAX_CRASHES) continue;
      failed += 1;
      item.results.push({
        generation: place.generation,
        phase: place.phase,
        attempt: place.attempt + 1,
        status: 'ERROR',
        errorClass: 'crashed',
        text: crashMessage(place.crashes),
      });
      takeBack(model, item, place.phase, Number.POSITIVE_INFINITY);
      item.place = null;
    }
    forgetLease(model, lease);
  }
  if (failed > 0) finish(model);
  return failed;
}

export const crashExpired = (model: Model): { leases: number; failedItems: number } => {
  const expired = model.held.filter((lease) => lease.expired);
  return { leases: expired.length, failedItems: expireLeases(model, expired) };
};

// Control.

/** Null: refused. */
export function pause(model: Model): boolean | null {
  if (model.state === 'PAUSED') return false;
  if (!CLAIMABLE.includes(model.state)) return null;
  model.state = 'PAUSED';
  return true;
}

/** Lifts one stop at a time. Null: refused. */
export function resume(model: Model): { changed: boolean; state: JobState; released: number } | null {
  if (model.state === 'PAUSED') {
    const state = !model.sealed ? 'INGESTING' : model.started ? 'RUNNING' : 'QUEUED';
    model.state = state;
    finish(model);
    return { changed: true, state, released: 0 };
  }
  if (!CLAIMABLE.includes(model.state)) return null;
  const changed = model.trial !== null;
  model.trial = null;
  let released = 0;
  for (const { place } of model.items) {
    if (!place?.held) continue;
    place.held = false;
    released += 1;
  }
  return { changed, state: model.state, released };
}

export function beginCancelling(model: Model): boolean {
  if (isFinished(model) || model.cancelled) return false;
  model.state = 'CANCELLING';
  model.cancelled = true;
  return true;
}

/**
 * Items get their earlier result back; only items that never had one are CANCELLED. Leases that lose an item are lost.
 */
export function cancelSeqs(model: Model, seqs: number[]): void {
  const taken = new Set(seqs);
  for (const lease of [...model.held]) {
    if (!lease.seqs.some((seq) => taken.has(seq))) continue;
    for (const seq of lease.seqs) model.items[seq]!.place!.token = null;
    forgetLease(model, lease);
  }
  for (const seq of seqs) {
    const item = model.items[seq]!;
    const { generation, phase, attempt } = item.place!;
    item.place = null;
    if (item.results.length > 0) continue;
    item.results.push({ generation, phase, attempt, status: 'CANCELLED', errorClass: null, text: null });
  }
}

export function cancelRest(model: Model): void {
  if (model.state === 'CANCELLING') cancelSeqs(model, openSeqs(model));
  finish(model);
}

// Finalizing.

export function beginFinalizing(model: Model): boolean {
  const { state, sealed } = model;
  const mayEnd = state === 'CANCELLING' || (sealed && (state === 'QUEUED' || state === 'RUNNING'));
  if (!mayEnd || openSeqs(model).length > 0) return false;
  model.state = 'FINALIZING';
  model.ending = null;
  return true;
}

export const canTakeEnding = ({ state, ending }: Model): boolean =>
  state === 'FINALIZING' && (ending === null || ending.expired);

/** Checks for the end of the job, and finalizes it. */
export function finish(model: Model): void {
  if (beginFinalizing(model)) finalize(model);
}

export function finalize(model: Model): boolean {
  if (!canTakeEnding(model)) return false;
  end(model);
  return true;
}

export function end(model: Model): void {
  const state = model.cancelled ? 'CANCELLED' : 'DONE';
  model.summaries.push(summaryOf(model, state));
  model.state = state;
  model.ending = null;
}

const endedWell = (status: ItemStatus): boolean => status === 'DONE' || status === 'SKIPPED';

function summaryOf({ items, generation }: Model, state: ModelSummary['state']): ModelSummary {
  const counts = Object.fromEntries(
    ITEM_STATUSES.map((status) => [
      status,
      items.filter(({ results }) => results.at(-1)!.status === status).length,
    ]),
  ) as Record<ItemStatus, number>;
  const summary: ModelSummary = { generation, state, total: items.length, counts, diff: null };
  if (generation === 1) return summary;
  const diff = {
    reprocessed: 0,
    fixed: 0,
    newlyFailed: 0,
    newlyNotFound: 0,
    unchanged: 0,
    otherResult: 0,
    added: 0,
  };
  for (const { results } of items) {
    const [before, after] = [results.at(-2), results.at(-1)!];
    if (after.generation !== generation) continue;
    if (before === undefined) {
      diff.added += 1;
      continue;
    }
    diff.reprocessed += 1;
    const isOther = before.status !== after.status;
    if (endedWell(after.status) && !endedWell(before.status)) diff.fixed += 1;
    else if (isOther && after.status === 'ERROR') diff.newlyFailed += 1;
    else if (isOther && after.status === 'NOT_FOUND') diff.newlyNotFound += 1;
    else {
      diff.unchanged += 1;
      if (isOther || before.text !== after.text) diff.otherResult += 1;
    }
  }
  return { ...summary, diff };
}

// Reprocessing.

const isPermanent = ({ errorClass }: ModelResult): boolean =>
  errorClass === 'permanent' || errorClass === 'invalid';
const attemptsOf = ({ results }: ModelItem): number => results.reduce((sum, { attempt }) => sum + attempt, 0);

/** A sealed, paused job has all its rows: finished ones can be reprocessed. */
export const canReprocess = (model: Model): boolean =>
  isFinished(model) || (model.state === 'PAUSED' && model.sealed);

/** For a finished or paused job. Null: nothing to do. */
export function reprocess(model: Model, request: ReprocessRequest): OpenedGeneration | null {
  const edits = new Map((request.edits ?? []).map(({ seq, input }) => [seq, input as { word: string }]));
  const onlyEdits = edits.size > 0 && request.statuses === undefined && request.seqs === undefined;
  const chosen = request.seqs && new Set(eachSeq(request.seqs));
  const statuses = request.statuses ?? (chosen ? 'all' : ['ERROR', 'NOT_FOUND']);
  const leftOut = { permanent: 0, exhausted: 0 };
  const taken: number[] = [];
  for (const [seq, item] of model.items.entries()) {
    if (item.place !== null) continue;
    const newest = item.results.at(-1)!;
    if (edits.has(seq)) {
      taken.push(seq);
      continue;
    }
    const isAsked = statuses === 'all' || statuses.includes(newest.status);
    if (onlyEdits || !isAsked || chosen?.has(seq) === false) continue;
    if (!request.includePermanent && isPermanent(newest)) leftOut.permanent += 1;
    else if (attemptsOf(item) >= (request.maxAttempts ?? MAX_ATTEMPTS_EVER)) leftOut.exhausted += 1;
    else taken.push(seq);
  }
  if (taken.length === 0) return null;
  model.generation += 1;
  const { generation } = model;
  for (const seq of taken) {
    const item = model.items[seq]!;
    const edit = edits.get(seq);
    if (edit) item.words.push({ generation, word: edit.word });
    const phase = edit ? 0 : startPhase(item, request.from);
    item.place = { ...freshPlace(generation, 0, false), phase, failures: triedBefore(item, phase) };
  }
  if (model.state === 'PAUSED') model.continued.push(generation - 1);
  else Object.assign(model, { state: 'QUEUED', sealed: true, started: false, cancelled: false, trial: null });
  if (edits.size > 0) model.hasEdits = true;
  return { generation, selected: taken.length, leftOut };
}

/** One strategy was tried for each time it was not found in this phase with this input. */
function triedBefore({ results, words }: ModelItem, phase: number): string {
  const editedIn = words.length > 1 ? words.at(-1)!.generation : 0;
  const tried = results.filter(
    (each) => each.errorClass === 'not_found' && each.phase === phase && each.generation >= editedIn,
  ).length;
  return tried === 0 ? NO_FAILURES : `tried=${tried}`;
}

/** The phase it failed in or the requested one, but never with an output of an older input. */
function startPhase({ results, outputs, words }: ModelItem, from: string | undefined): number {
  const { status, phase } = results.at(-1)!;
  const wanted = from === undefined ? (endedWell(status) ? 0 : phase) : PHASES.indexOf(from);
  const output = outputs.at(-1);
  const editedIn = words.length > 1 ? words.at(-1)!.generation : 0;
  return wanted > 0 && output !== undefined && output.generation >= editedIn ? wanted : 0;
}
