// What people may do: a viewer looks, a member makes and changes jobs, an administrator everything, for all.
export const ROLES = ['viewer', 'member', 'admin'] as const;
export type Role = (typeof ROLES)[number];
