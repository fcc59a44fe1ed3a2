// What the items of the model count, pure: which contributions count follows from the results that items have. An item that
// ran a phase again counts what it counted this time, one that ended counts nothing of later phases, and what was replaced
// no longer counts.
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
  /** Of the entry, when it was written. */
  epoch: number;
  number: number;
}

/** Nothing, one or two entities, or a replacement; another choice in the next generation. */
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

/** The outcomes of one flush that were recorded: items in their order, as the documentation says. */
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

/** What every entry has: "scope/entity" to its number. */
export function countedSums({ items, epochs }: Model): Record<string, number> {
  const sums = Object.fromEntries(Object.keys(epochs).map((key) => [key, 0]));
  for (const { key, epoch, number } of items.flatMap(({ counted }) => counted))
    if (epoch === epochs[key]) sums[key]! += number;
  return sums;
}
