// The fields of a row that hold its image, for jobs created from a set of images. They are found by the headers of
// the set, so a mapping cannot substitute another field.

export interface ImageKeys {
  /** Field with the key in the blob store. */
  blob: string;
  /** Field with the file name. */
  name: string;
}

/** Returns null if rows of this job have no images. */
export function imageKeys(
  columns: readonly { key: string; header: string }[],
  format: string | null | undefined,
): ImageKeys | null {
  if (format !== 'images') return null;
  const keyOf = (wanted: string): string | undefined => columns.find(({ header }) => header === wanted)?.key;
  const blob = keyOf('blob');
  return blob === undefined ? null : { blob, name: keyOf('file') ?? 'file' };
}
