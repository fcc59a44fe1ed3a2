// Which rows of a long list are seen, and where they are put. Browsers do not let an element grow beyond some millions of
// pixels: a longer list gets a shorter scroll bar, and a way of the bar then stands for a longer way of the rows.

/** Firefox takes about 17 million, and transforms lose whole pixels above 16 million. */
export const MAX_SCROLL_PX = 12_000_000;

export interface ScrollView {
  count: number;
  rowPx: number;
  viewPx: number;
  scrollTop: number;
  /** Rows before and behind what is seen. */
  overscan: number;
}

export interface VisibleRows {
  /** Rows first up to, without, end. */
  first: number;
  end: number;
  /** Where the first of them is put, from the top of what scrolls. */
  topPx: number;
}

export function scrollHeight(count: number, rowPx: number): number {
  return Math.min(count * rowPx, MAX_SCROLL_PX);
}

/** Pixels of rows per pixel of the scroll bar; 1 for lists that fit. */
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

/** Where the bar has to stand for a row to be the first one seen. */
export function scrollTopOf(
  row: number,
  { count, rowPx, viewPx }: Omit<ScrollView, 'scrollTop' | 'overscan'>,
): number {
  const bar = Math.max(0, scrollHeight(count, rowPx) - viewPx);
  return Math.min(bar, (row * rowPx) / scrollScale(count, rowPx, viewPx));
}
