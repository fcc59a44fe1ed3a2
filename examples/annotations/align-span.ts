// Moves spans from the text of an upload to the stored text of the same document. Whitespace is ignored, so texts that
// differ only in line breaks or indentation align completely. If the texts differ elsewhere, spans before and after
// the difference are moved.
export interface Span {
  begin: number;
  end: number;
}

/** Returns null if the span touches a part that the two texts do not share. */
export function spanAligner(from: string, to: string): (span: Span) => Span | null {
  if (from === to) return (span) => span;
  const [source, target] = [inkOf(from), inkOf(to)];
  const shorter = Math.min(source.length, target.length);
  const isSame = (a: number, b: number): boolean => from[source[a]!] === to[target[b]!];
  let head = 0;
  while (head < shorter && isSame(head, head)) head += 1;
  let tail = 0;
  while (tail < shorter - head && isSame(source.length - 1 - tail, target.length - 1 - tail)) tail += 1;
  return ({ begin, end }) => {
    const first = source.findIndex((at) => at >= begin);
    const last = source.findLastIndex((at) => at < end);
    if (first === -1 || last < first) return null;
    const isAfter = first >= source.length - tail;
    if (last >= head && !isAfter) return null;
    const shift = last < head ? 0 : target.length - source.length;
    return { begin: target[first + shift]!, end: target[last + shift]! + 1 };
  };
}

/** Positions of all characters that are not whitespace. */
function inkOf(text: string): number[] {
  return Array.from(text.matchAll(/\S/g), ({ index }) => index);
}
