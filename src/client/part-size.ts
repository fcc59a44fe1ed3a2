// How large the next part of an upload is. A part that was cut is sent again as a whole, so parts become smaller where
// connections break, and larger where they do not.

/** What a part costs besides its bytes does not matter from here on. */
const FIRST_BYTES = 1_048_576;
const LEAST_BYTES = 65_536;
const MOST_BYTES = 33_554_432;
/** So that a large file has not too many parts, and not even over the worst connection more than the server takes. */
const PARTS_WANTED = 1000;
const PARTS_MOST = 10_000;
/** Parts that arrive in a row before a larger one is tried, where one has been cut. */
const WELL_AFTER_CUT = 8;

export interface PartSize {
  bytes: number;
  /** How many arrived since it was changed. */
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
