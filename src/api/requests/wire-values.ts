// Converts values to their form on the wire.
import type { z } from 'zod';
import type { json } from '../../contract/values.ts';

export type Json = z.infer<typeof json>;

/** The value of a jsonb column; null for an empty column. */
export function asJson(value: unknown): Json {
  return (value ?? null) as Json;
}

export function timeOrNull(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

const LATEST_MS = Date.UTC(9000, 0);

/** Clamps a time from a client to the range that the database can store. */
export function boundedTimeMs(text: string): number {
  return Math.min(LATEST_MS, Math.max(0, Date.parse(text)));
}
