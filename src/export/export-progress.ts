// How far an export has come. Writers set it right before they hand out a chunk, so whoever holds the chunk can ask.

export interface ExportProgress {
  /** Rows handed out. */
  rowCount: number;
  /** The last row that is complete in the bytes handed out. */
  seq: number;
  bytes: number;
}

/** Writers hand out a chunk when it has grown to this size. */
export const CHUNK_BYTES = 64 * 1024;
