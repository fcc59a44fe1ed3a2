// Reads the query string of a URL. Invalid values are dropped, so a truncated or mistyped link shows the default view.

type Reader<Value> = (given: unknown) => Value | undefined;

export type SearchOf<Readers> = {
  [Name in keyof Readers]?: Readers[Name] extends Reader<infer Value> ? Value | undefined : never;
};

export function readSearch<const Readers extends Record<string, Reader<unknown>>>(
  readers: Readers,
): (given: Record<string, unknown>) => SearchOf<Readers> {
  return (given) => {
    const search: Record<string, unknown> = {};
    for (const [name, read] of Object.entries(readers)) {
      const value = given[name] === undefined ? undefined : read(given[name]);
      if (value !== undefined) search[name] = value;
    }
    return search as SearchOf<Readers>;
  };
}

/** The router parses texts that look like numbers as numbers, so they are converted back. */
export function text({ min = 0, max = 10_000 } = {}): Reader<string> {
  return (given) => {
    if (typeof given === 'object' && given !== null) return undefined;
    const value = String(given);
    return value.length >= min && value.length <= max ? value : undefined;
  };
}

export const path: Reader<string> = (given) =>
  typeof given === 'string' && given.startsWith('/') ? given : undefined;

export const flag: Reader<boolean> = (given) => (typeof given === 'boolean' ? given : undefined);

export const wholeNumber: Reader<number> = (given) =>
  Number.isSafeInteger(given) && (given as number) >= 0 ? (given as number) : undefined;

export function oneOf<const Value extends string>(values: readonly Value[]): Reader<Value> {
  return (given) => values.find((value) => value === given);
}
