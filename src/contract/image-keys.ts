// Which fields of a row hold its image, when the job came from a set of images. The headers are those of the set, so that a
// mapping cannot pass off something else.

export interface ImageKeys {
  /** Holds the key in the blob store. */
  blob: string;
  /** Holds the name of the file. */
  name: string;
}

/** Null: rows of this job have no images. */
export function imageKeys(
  columns: readonly { key: string; header: string }[],
  format: string | null | undefined,
): ImageKeys | null {
  if (format !== 'images') return null;
  const keyOf = (wanted: string): string | undefined => columns.find(({ header }) => header === wanted)?.key;
  const blob = keyOf('blob');
  return blob === undefined ? null : { blob, name: keyOf('file') ?? 'file' };
}
