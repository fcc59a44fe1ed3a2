// Parses lists of numbers such as 0-99,250.
import { type SeqRange, type SeqRanges, unionRanges } from './seq-ranges.ts';

/** Null if the text is not such a list. */
export function parseSeqList(text: string): SeqRanges | null {
  const ranges: SeqRange[] = [];
  for (const part of text.split(',')) {
    const match = /^\s*(\d{1,15})(?:-(\d{1,15}))?\s*$/.exec(part);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? first);
    if (!match || last < first) return null;
    ranges.push([first, last + 1]);
  }
  return unionRanges(ranges, []);
}
