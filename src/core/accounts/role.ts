// Account roles: a viewer reads, a member creates and changes jobs, an administrator does everything, for all owners.
export const ROLES = ['viewer', 'member', 'admin'] as const;
export type Role = (typeof ROLES)[number];
