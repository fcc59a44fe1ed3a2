// The part of a file that is sent for a preview. Text needs only its beginning; archives, workbooks and JSON arrays
// must be read whole.

export const PART_BYTES = 2_000_000;
/** Larger files are sent for a preview only on request. */
export const WHOLE_BYTES_MAX = 50_000_000;

/** Larger files are uploaded for a check of all rows only on request. */
export function isCheckedAlone(file: Blob): boolean {
  return file.size <= WHOLE_BYTES_MAX;
}

export interface PreviewPart {
  bytes: Blob;
  isWhole: boolean;
}

export async function partForPreview(file: Blob): Promise<PreviewPart> {
  if (file.size <= PART_BYTES) return { bytes: file, isWhole: true };
  const start = new Uint8Array(await file.slice(0, PART_BYTES).arrayBuffer());
  if (!canBeCut(start)) return { bytes: file, isWhole: true };
  return { bytes: new Blob([start.slice(0, endOfLastLine(start))]), isWhole: false };
}

/** Whether the file is text in lines. */
export function canBeCut(start: Uint8Array): boolean {
  const text = firstSign(start);
  if (text === '[') return false;
  const [a = 0, b = 0] = start;
  // zip and xlsx, gzip, PNG, JPEG, GIF and WebP.
  const isArchive = (a === 0x50 && b === 0x4b) || (a === 0x1f && b === 0x8b);
  const isImage = (a === 0x89 && b === 0x50) || (a === 0xff && b === 0xd8);
  return !isArchive && !isImage && !/^(GIF8|RIFF)/.test(String.fromCharCode(...start.slice(0, 4)));
}

/** Cuts at a line end: half a row would look like a broken row. */
export function endOfLastLine(bytes: Uint8Array): number {
  const at = bytes.lastIndexOf(0x0a);
  if (at < 0) return bytes.length;
  // In UTF-16 little-endian a zero byte follows the line feed.
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  return isWide ? Math.min(bytes.length, at + 2) : at + 1;
}

function firstSign(start: Uint8Array): string {
  return new TextDecoder().decode(start.slice(0, 1000)).trimStart().charAt(0);
}
