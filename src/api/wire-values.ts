// Values as they go over the wire.
import type { z } from 'zod';
import type { json } from '../contract/values.ts';

export type Json = z.infer<typeof json>;

/** What a jsonb column holds; null where it holds nothing. */
export function asJson(value: unknown): Json {
  return (value ?? null) as Json;
}

export function timeOrNull(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}
