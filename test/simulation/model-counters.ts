// The counters of the model, pure: the results of the items decide which contributions count. An item that ran a phase
// again counts by its new run, a finished item counts nothing of later phases, and a replaced contribution no longer
// counts.
import { type Contribution, defineCounter } from '../../src/core/items/counter.ts';
import type { RecordedOutcome } from '../../src/engine/flush/flush-outcomes.ts';
import type { Model, ModelItem } from './model-job.ts';

export const COUNTER = defineCounter({
  name: 'modelled',
  scope: 'phase',
  entity: 'word',
  measures: ['number'],
});
const ENTITIES = 3;

export interface ModelContribution {
  generation: number;
  phase: number;
  key: string;
  /** The epoch of the entry at the time of writing. */
  epoch: number;
  number: number;
}

/** Nothing, one or two entities, or a replacement; different in the next generation. */
export function contributionsOf(seq: number, phase: number, generation: number): Contribution[] {
  const contribution = (at: number, mode: Contribution['mode'] = 'add'): Contribution => ({
    counter: COUNTER.name,
    scope: `p${phase % 2}`,
    entity: `e${(seq + at) % ENTITIES}`,
    mode,
    measured: { number: 1 + seq * 10 + generation * 100 },
  });
  const draw = (seq * 7 + phase * 3 + generation * 5) % 8;
  if (draw === 0) return [];
  if (draw === 1) return [contribution(0, 'replace')];
  return draw < 5 ? [contribution(0)] : [contribution(1), contribution(0)];
}

export function takeBack(model: Model, item: ModelItem, fromPhase: number, toPhase: number): void {
  const taken = item.counted.filter(({ phase }) => phase >= fromPhase && phase <= toPhase);
  item.counted = item.counted.filter((each) => !taken.includes(each));
  for (const { key, epoch } of taken) model.counters[epoch === model.epochs[key] ? 'takenBack' : 'void'] += 1;
}

/** Applies the recorded outcomes of one flush, in item order, as documented. */
export function applyCounted(
  model: Model,
  { phase, generation }: { phase: number; generation: number },
  outcomes: readonly RecordedOutcome[],
): void {
  for (const { seq, kind } of outcomes)
    if (kind !== 'retry')
      takeBack(model, model.items[seq]!, phase, kind === 'advance' ? phase : Number.POSITIVE_INFINITY);
  for (const { seq, counted = [] } of [...outcomes].sort((a, b) => a.seq - b.seq)) {
    for (const { scope, entity, mode, measured } of counted) {
      const key = `${scope}/${entity}`;
      model.epochs[key] = (model.epochs[key] ?? 0) + (mode === 'replace' ? 1 : 0);
      const number = measured.number!;
      model.items[seq]!.counted.push({ generation, phase, key, epoch: model.epochs[key], number });
    }
  }
}

/** The number of every entry, by "scope/entity". */
export function countedSums({ items, epochs }: Model): Record<string, number> {
  const sums = Object.fromEntries(Object.keys(epochs).map((key) => [key, 0]));
  for (const { key, epoch, number } of items.flatMap(({ counted }) => counted))
    if (epoch === epochs[key]) sums[key]! += number;
  return sums;
}
