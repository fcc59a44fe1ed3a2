// Roles of accounts: a viewer can read, a member can create and change jobs, an administrator can do everything for
// all.
export const ROLES = ['viewer', 'member', 'admin'] as const;
export type Role = (typeof ROLES)[number];
