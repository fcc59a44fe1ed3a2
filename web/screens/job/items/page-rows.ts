// Rows per request. In its own file, because the prefetch must not load the grid.
export const PAGE_ROWS = 100;
