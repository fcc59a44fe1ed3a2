// What an API key may be allowed to do. Stands apart from the schemas, which the page does without.
export const SCOPES = ['read', 'write', 'export', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];
