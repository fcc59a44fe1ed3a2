// Names an error group of a job in a filter.

export interface ErrorGroupRef {
  /** Signature of the group. */
  errorGroup: string;
  /** Default: the group in every phase. */
  phase?: number | undefined;
}

/** Error groups of one filter. */
export const MAX_ERROR_GROUPS = 200;
