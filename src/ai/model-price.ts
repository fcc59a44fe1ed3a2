// Turns the usage that a provider reports into cost.

/** Price of a model per million tokens, in the unit of the budgets. */
export interface ModelPrice {
  readonly input: number;
  /** Default: 0, as for embedding models. */
  readonly output?: number;
  /** Price of input tokens that the provider read from its cache. Default: `input`. */
  readonly cachedInput?: number;
}

export interface TokenUsage {
  /** All input tokens, including cached ones. */
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

/** One division at the end, so that a price of 1,000,000 counts tokens exactly. */
export function costOf({ input, output = 0, cachedInput = input }: ModelPrice, usage: TokenUsage): number {
  const cached = Math.min(usage.cachedInput, usage.input);
  return ((usage.input - cached) * input + cached * cachedInput + usage.output * output) / 1_000_000;
}
