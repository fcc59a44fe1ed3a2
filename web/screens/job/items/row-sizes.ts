// Sizes of the grid in pixels.

export const ROW_PX = 36;
export const CHOICE_PX = 40;
export const NUMBER_PX = 84;
/** The bands above the headers, and the headers. */
export const BAND_PX = 22;
export const HEAD_PX = 36 + BAND_PX;
