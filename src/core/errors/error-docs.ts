// The section of docs/errors.md that explains an error.

/** Folder of the pages in the package. Replace it with their URL once they are published. */
const DOCS_BASE = 'docs/';

/** JOB_NOT_FOUND: docs/errors.md#job_not_found. */
export function errorDocs(code: string): string {
  return `${DOCS_BASE}errors.md#${code.toLowerCase()}`;
}
