// Error classes as a user reads them.
const WORDS: Record<string, string> = {
  throttled: 'Rate-limited',
  overloaded: 'Service overloaded',
  timeout: 'Timed out',
  not_found: 'Not found',
  invalid: 'Invalid input',
  permanent: "Won't succeed if retried",
  crashed: 'Worker crashed',
};

export function errorClassWords(errorClass: string): string {
  return WORDS[errorClass] ?? errorClass;
}
