// The columns of a job's input: what the file calls them, and under which key each item holds the value.

export interface InputColumn {
  /** Key in the stored input: unique, and the pipeline's name for it where the column was mapped. */
  key: string;
  /** The header as it stands in the file: what exports show. */
  header: string;
}
