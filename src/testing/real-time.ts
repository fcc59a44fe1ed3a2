// The timers of the process as they were when this module was loaded: a test may fake the global ones, and a run
// of a pipeline must still be able to let handlers get on.
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
