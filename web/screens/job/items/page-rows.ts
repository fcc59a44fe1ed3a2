// Rows that are fetched at once. Stands alone because rows are asked for before the grid is there.
export const PAGE_ROWS = 100;
