// A column of a job's input: its header in the file, and the key of its value in each item.

export interface InputColumn {
  /** Key in the stored input. Unique; the pipeline's field name if the column is mapped. */
  key: string;
  /** Header as in the file, which exports show. */
  header: string;
}
