// Values as they go over the wire.
import type { z } from 'zod';
import type { json } from '../../contract/values.ts';

export type Json = z.infer<typeof json>;

/** What a jsonb column holds; null where it holds nothing. */
export function asJson(value: unknown): Json {
  return (value ?? null) as Json;
}

export function timeOrNull(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

const LATEST_MS = Date.UTC(9000, 0);

/** A time that a client gave, as one that the database can hold: offsets and years have other bounds there. */
export function boundedTimeMs(text: string): number {
  return Math.min(LATEST_MS, Math.max(0, Date.parse(text)));
}
