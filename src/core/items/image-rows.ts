// The manifest line and the columns of rows that describe images.

/** First line of an image manifest. */
export const MANIFEST_LINE = '{"rowmill":"images","version":1}';

/** Columns of a row that describes an image. */
export const IMAGE_HEADERS = ['file', 'type', 'bytes', 'width', 'height', 'blob'] as const;
