// An item with status ERROR, with its input.
export interface FailedItem {
  seq: number;
  /** Index of the phase in which it failed. */
  phase: number;
  attempt: number;
  errorClass: string | null;
  error: string | null;
  input: unknown;
}
