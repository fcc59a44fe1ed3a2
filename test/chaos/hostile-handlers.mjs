export const HOSTILE_HANDLERS = { 'well-behaved': async ({ n }) => ({ n }) };
