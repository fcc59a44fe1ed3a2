// Names the person who can fix the errors of a class, and what to do first. The API, the command line and the page show the same.

/** `row owner`: the input. `developer`: the pipeline. `operator`: limits, timeouts and the called service. */
export type Fixer = 'row owner' | 'developer' | 'operator';

export interface Triage {
  fixer: Fixer;
  suggestion: string;
}

const TRIAGE: Readonly<Record<string, Triage>> = {
  invalid: { fixer: 'row owner', suggestion: 'Edit the field and retry' },
  not_found: { fixer: 'row owner', suggestion: 'Check the input, then edit or skip' },
  permanent: { fixer: 'developer', suggestion: 'Fix the pipeline or edit the rows, then retry' },
  crashed: { fixer: 'developer', suggestion: 'Fix the pipeline, then retry' },
  throttled: { fixer: 'operator', suggestion: 'Lower the rate limit, then retry' },
  overloaded: { fixer: 'operator', suggestion: 'Retry when the service has recovered' },
  timeout: { fixer: 'operator', suggestion: 'Retry; raise the timeout if it happens again' },
};
const UNKNOWN: Triage = { fixer: 'developer', suggestion: 'Look at an example, then retry' };

export function triageOf(errorClass: string): Triage {
  return Object.hasOwn(TRIAGE, errorClass) ? TRIAGE[errorClass]! : UNKNOWN;
}

/** The signature without its class: the part that people read. */
export function patternOf({ signature, errorClass }: { signature: string; errorClass: string }): string {
  const prefix = `${errorClass}: `;
  return signature.startsWith(prefix) ? signature.slice(prefix.length) : signature;
}

export type UnsuccessfulStatus = 'ERROR' | 'NOT_FOUND';

/** The status of a row that ends with an error of this class: not found is not a failure. */
export function unsuccessfulStatus(errorClass: string): UnsuccessfulStatus {
  return errorClass === 'not_found' ? 'NOT_FOUND' : 'ERROR';
}
