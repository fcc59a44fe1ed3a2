// Computes the visible rows of a long list and their position. Browsers limit elements to some millions of pixels: a
// longer list gets a scaled scroll bar, on which one pixel is several pixels of rows.

/** Firefox allows about 17 million, and transforms lose whole pixels above 16 million. */
export const MAX_SCROLL_PX = 12_000_000;

export interface ScrollView {
  count: number;
  rowPx: number;
  viewPx: number;
  scrollTop: number;
  /** Extra rows above and below the view. */
  overscan: number;
}

export interface VisibleRows {
  /** The first row of the window; `end` is exclusive. */
  first: number;
  end: number;
  /** Position of the first row from the top of the scrolled area. */
  topPx: number;
}

export function scrollHeight(count: number, rowPx: number): number {
  return Math.min(count * rowPx, MAX_SCROLL_PX);
}

/** Pixels of rows per pixel of the scroll bar; 1 for lists that need no scaling. */
export function scrollScale(count: number, rowPx: number, viewPx: number): number {
  const bar = scrollHeight(count, rowPx) - viewPx;
  const way = count * rowPx - viewPx;
  return bar <= 0 || way <= bar ? 1 : way / bar;
}

export function visibleRows({ count, rowPx, viewPx, scrollTop, overscan }: ScrollView): VisibleRows {
  const scale = scrollScale(count, rowPx, viewPx);
  const bar = Math.max(0, scrollHeight(count, rowPx) - viewPx);
  const top = Math.min(Math.max(0, scrollTop), bar);
  const way = top * scale;
  const first = Math.max(0, Math.floor(way / rowPx) - overscan);
  const end = Math.min(count, Math.ceil((way + viewPx) / rowPx) + overscan);
  return { first, end, topPx: top + (first * rowPx - way) };
}

/** Scroll position at which a row is the first visible one. */
export function scrollTopOf(
  row: number,
  { count, rowPx, viewPx }: Omit<ScrollView, 'scrollTop' | 'overscan'>,
): number {
  const bar = Math.max(0, scrollHeight(count, rowPx) - viewPx);
  return Math.min(bar, (row * rowPx) / scrollScale(count, rowPx, viewPx));
}
