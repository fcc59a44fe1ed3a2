// Scopes of API keys. Separate from the schemas, which the page does not load.
export const SCOPES = ['read', 'write', 'export', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];
