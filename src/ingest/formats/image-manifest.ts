// Describes one image, or gives the reason to reject it: type by its first bytes, size by its headers, complete or cut
// off.
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import type { ReadLimits } from '../row-reader.ts';
import { type ImageType, identifyBytes, isImageType, looksLikeSvg } from './magic-bytes.ts';
import { measureImage } from './measure-image.ts';

export interface DescribedImage {
  name: string;
  type: ImageType;
  bytes: number;
  width: number;
  height: number;
  /** Hexadecimal. */
  sha256: string;
}

export type ImageDescription = { ok: true; image: DescribedImage } | { ok: false; reason: string };

type ImageLimits = Pick<ReadLimits, 'imageMaxBytes' | 'imageMaxPixels'>;

/** `source` is the image, or the path of its file. */
export async function describeImage(
  source: Buffer | string,
  name: string,
  limits: ImageLimits,
): Promise<ImageDescription> {
  if (typeof source !== 'string') return describeBytes(source, name, limits);
  const { size } = await stat(source);
  if (size > limits.imageMaxBytes) return { ok: false, reason: tooManyBytes(limits) };
  return describeBytes(await readFile(source), name, limits);
}

export function tooManyBytes(limits: ImageLimits): string {
  return `the image has more than ${limits.imageMaxBytes} bytes (imageMaxBytes)`;
}

function describeBytes(bytes: Buffer, name: string, limits: ImageLimits): ImageDescription {
  if (bytes.length === 0) return { ok: false, reason: 'the file is empty' };
  if (bytes.length > limits.imageMaxBytes) return { ok: false, reason: tooManyBytes(limits) };
  const type = identifyBytes(bytes);
  if (!isImageType(type)) {
    const svg = looksLikeSvg(bytes.subarray(0, 4096));
    return {
      ok: false,
      reason: svg
        ? 'SVG images are not accepted because they can contain scripts: convert it to PNG'
        : 'the file is not a PNG, JPEG, GIF, WebP, AVIF, HEIC, TIFF or BMP image',
    };
  }
  const measured = measureImage(bytes, type);
  if (!measured.ok) return measured;
  const { width, height, pixels } = measured;
  if (pixels > limits.imageMaxPixels) {
    return {
      ok: false,
      reason: `the image has ${width} x ${height} pixels, more than ${limits.imageMaxPixels} (imageMaxPixels)`,
    };
  }
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { ok: true, image: { name, type, bytes: bytes.length, width, height, sha256 } };
}
