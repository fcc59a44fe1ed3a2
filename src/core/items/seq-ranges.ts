// Sets of seq numbers as sorted, disjoint, half-open ranges: the arithmetic of spans, and their text form as
// PostgreSQL's int8multirange. Every operation is linear in the number of ranges, not items.

export type SeqRange = readonly [from: number, to: number];
export type SeqRanges = readonly SeqRange[];

export function countSeqs(ranges: SeqRanges): number {
  let count = 0;
  for (const [from, to] of ranges) count += to - from;
  return count;
}

export function formatRanges(ranges: SeqRanges): string {
  let text = '{';
  for (const [from, to] of ranges) text += `${text.length > 1 ? ',' : ''}[${from},${to})`;
  return `${text}}`;
}

export function parseRanges(text: string): SeqRanges {
  const ranges: SeqRange[] = [];
  for (const match of text.matchAll(/\[(\d+),(\d+)\)/g)) ranges.push([Number(match[1]), Number(match[2])]);
  if (formatRanges(ranges) !== text)
    throw new Error(`expected an int8multirange of finite ranges, got ${text}`);
  return ranges;
}

/** The set of these seqs, in any order and with repeats. Seqs that are already in order are not sorted. */
export function rangesOf(seqs: readonly number[]): SeqRanges {
  const ranges: [number, number][] = [];
  let last: [number, number] | undefined;
  for (const seq of seqs) {
    if (last && seq === last[1]) last[1] = seq + 1;
    else if (!last || seq > last[1]) {
      last = [seq, seq + 1];
      ranges.push(last);
    } else return joinSorted([...seqs].sort((a, b) => a - b).map((each): SeqRange => [each, each + 1]));
  }
  return ranges;
}

export function unionRanges(a: SeqRanges, b: SeqRanges): SeqRanges {
  return joinSorted([...a, ...b].sort((x, y) => x[0] - y[0]));
}

export function subtractRanges(from: SeqRanges, remove: SeqRanges): SeqRanges {
  const rest: SeqRange[] = [];
  let next = 0;
  for (const [low, high] of from) {
    let start = low;
    while (next < remove.length && remove[next]![1] <= start) next += 1;
    for (let i = next; i < remove.length && remove[i]![0] < high; i += 1) {
      if (remove[i]![0] > start) rest.push([start, remove[i]![0]]);
      start = Math.max(start, remove[i]![1]);
    }
    if (start < high) rest.push([start, high]);
  }
  return rest;
}

/** The first `count` seqs, and the rest. */
export function splitRanges(ranges: SeqRanges, count: number): [head: SeqRanges, tail: SeqRanges] {
  const head: SeqRange[] = [];
  const tail: SeqRange[] = [];
  let missing = count;
  for (const [from, to] of ranges) {
    const cut = Math.min(to, from + Math.max(0, missing));
    if (cut > from) head.push([from, cut]);
    if (cut < to) tail.push([cut, to]);
    missing -= cut - from;
  }
  return [head, tail];
}

export function* eachSeq(ranges: SeqRanges): Generator<number> {
  for (const [from, to] of ranges) for (let seq = from; seq < to; seq += 1) yield seq;
}

function joinSorted(sorted: readonly SeqRange[]): SeqRanges {
  const joined: [number, number][] = [];
  for (const [from, to] of sorted) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else if (to > from) joined.push([from, to]);
  }
  return joined;
}
