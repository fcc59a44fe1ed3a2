// Deadlines for operations on servers that may stop answering at any moment.

/** Rejects after `ms` and calls `onLate`, which must end the operation by closing the connection. */
export async function withDeadline<T>(
  what: string,
  ms: number,
  work: Promise<T>,
  onLate: () => void,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      onLate();
      reject(new Error(`${what}: no answer within ${ms} ms`));
    }, ms);
  });
  // An abandoned operation may still fail, with nothing awaiting it.
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Applies the deadline to each part of a stream. Time that the reader takes between two parts does not count. */
export async function* withDeadlines<T>(
  what: string,
  ms: number,
  parts: AsyncIterable<T>,
  onLate: () => void,
): AsyncGenerator<T> {
  const iterator = parts[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const next = await withDeadline(what, ms, iterator.next(), onLate);
      if (next.done) {
        ended = true;
        return;
      }
      yield next.value;
    }
  } finally {
    if (!ended) void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
