// Reads the first part of a file as text, for detection. Refuses a file that is not text.
import { createReadStream } from 'node:fs';
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import { type ControlCount, countControls, isPaddedText } from '../control-characters.ts';
import { decodeText } from './decode-text.ts';

export interface SampleText {
  text: string;
  /** The sample is the whole file. */
  complete: boolean;
  /** Invalid bytes were replaced. */
  damaged: boolean;
  /** Number of NUL characters. */
  nuls: number;
}

const SAMPLE_CHARACTERS = 256 * 1024;
// In compressed data one character in nine is a control character, in text hardly any. Small numbers prove nothing.
const MAX_CONTROL_SHARE = 0.05;
const FEW_CONTROLS = 20;

export async function readSampleText(path: string, encoding: string): Promise<SampleText> {
  const parts: string[] = [];
  let length = 0;
  let damaged = false;
  let complete = true;
  let blank = true;
  for await (const piece of decodeText(createReadStream(path), encoding)) {
    blank &&= piece.text.trim() === '';
    // Blank lines are not a useful sample. A file of only blank lines is read to its end once.
    if (length >= SAMPLE_CHARACTERS) {
      complete = false;
      if (!blank) break;
      continue;
    }
    parts.push(piece.text);
    length += piece.text.length;
    damaged ||= piece.damaged;
  }
  if (blank) {
    const got = length === 0 ? 'an empty file' : 'only empty lines';
    throw new RowmillError('FILE_INVALID', `expected the file to have rows, got ${got}`);
  }
  const text = parts.join('');
  const controls = countControls(text);
  refuseBinary(text, controls);
  return { text, complete, damaged, nuls: controls.nuls };
}

function refuseBinary(text: string, count: ControlCount): void {
  const controls = count.nuls + count.others;
  if (controls < FEW_CONTROLS || controls < text.length * MAX_CONTROL_SHARE) return;
  if (isPaddedText(count, text.length)) return;
  const percent = Math.round((controls / text.length) * 100);
  throw new RowmillError(
    'FILE_INVALID',
    `expected the file to be text, got ${percent}% control characters: it looks like binary data`,
  );
}
