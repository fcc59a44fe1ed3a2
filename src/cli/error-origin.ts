// Remembers which server or database an error comes from, for users who have several.

const origins = new WeakMap<object, string>();

export async function noteOrigin<Result>(origin: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (typeof error === 'object' && error !== null) origins.set(error, origin);
    throw error;
  }
}

export function originOf(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null ? origins.get(error) : undefined;
}
