// Drops whole lines from the start of a stream of text pieces, with any line ends and wherever the pieces are cut.
import type { TextPiece } from './decode-text.ts';

export async function* skipLines(
  pieces: AsyncIterable<TextPiece>,
  count: number,
): AsyncGenerator<TextPiece, void, undefined> {
  let left = count;
  /** The last dropped line ended with \r: a \n right after it belongs to it. */
  let afterReturn = false;
  for await (const piece of pieces) {
    let at = 0;
    while (left > 0 || afterReturn) {
      if (at >= piece.text.length) break;
      if (afterReturn) {
        afterReturn = false;
        if (piece.text[at] === '\n') at += 1;
        continue;
      }
      const end = piece.text.slice(at).search(/[\r\n]/);
      if (end === -1) {
        at = piece.text.length;
        break;
      }
      afterReturn = piece.text[at + end] === '\r';
      at += end + 1;
      left -= 1;
    }
    if (at < piece.text.length)
      yield at === 0 ? piece : { text: piece.text.slice(at), damaged: piece.damaged };
  }
}
