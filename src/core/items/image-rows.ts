// Rows that a set of images is read as.

/** First line of a manifest of images. */
export const MANIFEST_LINE = '{"rowmill":"images","version":1}';

/** Columns of a row that describes an image. */
export const IMAGE_HEADERS = ['file', 'type', 'bytes', 'width', 'height', 'blob'] as const;
