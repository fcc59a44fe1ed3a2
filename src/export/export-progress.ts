// Progress of an export. Writers update it right before they yield a chunk, so it is exact for the consumer of the
// chunk.

export interface ExportProgress {
  /** Rows in the yielded bytes. */
  rowCount: number;
  /** The last complete row in the yielded bytes. */
  seq: number;
  bytes: number;
}

/** Size at which writers yield a chunk. */
export const CHUNK_BYTES = 64 * 1024;
