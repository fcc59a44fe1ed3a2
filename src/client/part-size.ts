// Size of the next part of an upload. A part whose connection breaks is sent again as a whole, so parts shrink on
// unreliable connections and grow on reliable ones.

/** Large enough that the overhead of a part does not matter. */
const FIRST_BYTES = 1_048_576;
const LEAST_BYTES = 65_536;
const MOST_BYTES = 33_554_432;
/** Target number of parts of a large file, and the most that a server accepts, even over the worst connection. */
const PARTS_WANTED = 1000;
const PARTS_MOST = 10_000;
/** After a broken part, parts that must arrive in a row before the size grows. */
const WELL_AFTER_CUT = 8;

export interface PartSize {
  bytes: number;
  /** Parts that arrived since the size changed. */
  well: number;
  wasCut: boolean;
}

export const FIRST_PART: PartSize = { bytes: FIRST_BYTES, well: 0, wasCut: false };

export function sizeAfterPart(size: PartSize, fileBytes: number, arrived: boolean): PartSize {
  const least = Math.max(LEAST_BYTES, Math.ceil(fileBytes / PARTS_MOST));
  const most = Math.min(MOST_BYTES, Math.max(FIRST_BYTES, Math.ceil(fileBytes / PARTS_WANTED)));
  if (!arrived) return { bytes: Math.max(least, Math.ceil(size.bytes / 2)), well: 0, wasCut: true };
  const well = size.well + 1;
  if (well < (size.wasCut ? WELL_AFTER_CUT : 1)) return { ...size, well };
  return { ...size, bytes: Math.min(Math.max(least, most), size.bytes * 2), well: 0 };
}
