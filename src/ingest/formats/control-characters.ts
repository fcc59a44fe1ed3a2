// Counts the control characters that distinguish binary data from text. NUL alone does not make a file binary: some
// programs pad text with it.

export interface ControlCount {
  nuls: number;
  /** Other control characters that do not occur in text. */
  others: number;
}

export function countControls(text: string): ControlCount {
  let nuls = 0;
  let others = 0;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === 0) nuls += 1;
    else if (code < 0x20 && (code < 0x09 || code > 0x0d)) others += 1;
  }
  return { nuls, others };
}

const MAX_OTHER_SHARE = 0.01;
/** With a larger share, the text is UTF-32 or mostly padding. */
const MAX_NUL_SHARE = 0.5;

/** Whether NUL is the only unusual character in the text. */
export function hasOnlyNuls({ others }: ControlCount, length: number): boolean {
  return others <= length * MAX_OTHER_SHARE;
}

export function isPaddedText(count: ControlCount, length: number): boolean {
  return hasOnlyNuls(count, length) && count.nuls <= length * MAX_NUL_SHARE;
}
