// Chooses the model of a call: the one that the call names, the one of the current strategy, or the first.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { didYouMean } from '../core/errors/did-you-mean.ts';

export interface ChosenModel<Model> {
  readonly name: string;
  readonly model: Model;
  /** True if the strategy chose the model, and a later strategy has another. */
  readonly hasNext: boolean;
  /** True if the strategy chose the model. */
  readonly isByStrategy: boolean;
}

export function chooseModel<Model extends { readonly modelId: string }>(
  models: Readonly<Record<string, Model>>,
  asked: string | Model | undefined,
  strategy: string | undefined,
): ChosenModel<Model> {
  const names = Object.keys(models);
  if (asked !== undefined && typeof asked !== 'string')
    return { name: asked.modelId, model: asked, hasNext: false, isByStrategy: false };
  const isByStrategy = asked === undefined && strategy !== undefined && names.includes(strategy);
  const name = asked ?? (isByStrategy ? strategy : names[0]);
  if (name === undefined || !names.includes(name))
    throw new RowmillError(
      'PIPELINE_INVALID',
      `expected a model of createAi (${names.join(', ') || 'none given'}), got ${name ?? 'none'}${didYouMean(name ?? '', names)}`,
      { hint: 'Add the model to `models` or `embeddings` of createAi. See docs/ai.md.' },
    );
  return { name, model: models[name]!, hasNext: isByStrategy && name !== names.at(-1), isByStrategy };
}
