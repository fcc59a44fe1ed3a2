/** First line of a manifest of images. */
export const MANIFEST_LINE = '{"rowmill":"images","version":1}';
