// Bounds of a request for usage, also for the page, which has no schemas.

/** Longest range of days of one request. */
export const USAGE_DAYS_MAX = 92;
export const USAGE_ROWS_MAX = 10_000;
