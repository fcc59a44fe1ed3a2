// The real timers, captured when this module is loaded. A test may fake the global timers, and a pipeline run must
// still let its handlers make progress.
const realSetTimeout = globalThis.setTimeout;
const realClearTimeout = globalThis.clearTimeout;
const realSetImmediate = globalThis.setImmediate;

export function realTurnOfLoop(): Promise<void> {
  return new Promise((resolve) => {
    realSetImmediate(resolve);
  });
}

/** Resolves when `event` does, or after `ms`. */
export async function withinRealMs(event: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = realSetTimeout(resolve, ms);
  });
  await Promise.race([event, timeUp]);
  realClearTimeout(timer);
}
