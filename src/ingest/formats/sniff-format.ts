// Detects the format of a file, through one layer of gzip or zip. The layer is unpacked into a folder, because
// detecting its content needs a file, too. A second layer is not unpacked.
import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { FormatName, FormatOptions, ReadLimits } from '../row-reader.ts';
import { inflateGzip } from './inflate-gzip.ts';
import { lookAtFile } from './look-at-file.ts';
import { withZip } from './zip-archive.ts';

export interface SniffedFormat {
  /** `imageZip` is a zip of images; `images` is the manifest that is created from it. */
  kind: FormatName | 'imageZip' | 'image' | 'unsupported';
  compression?: 'gzip' | 'zip';
  /** For unsupported files: a description of the file, and what to do. */
  found?: string;
  advice?: string;
  isBroken?: boolean;
}

export interface UnpackedFile {
  /** Path of the file itself, or of the content of the gzip or zip. */
  path: string;
  sniffed: SniffedFormat;
  /** The beginning of a text file; null for any other file. */
  text: string | null;
}

/** `folder` does not exist yet; it is created if something has to be unpacked. The caller removes it. */
export async function unpackFile(
  path: string,
  folder: string,
  options: FormatOptions,
  limits: ReadLimits,
): Promise<UnpackedFile> {
  const { text, look } = await lookAtFile(path, options, limits);
  if (look.kind !== 'gzip' && look.kind !== 'zipOfOne') return { path, text, sniffed: look };
  await mkdir(folder, { mode: 0o700 });
  const inner = join(folder, 'content');
  const compression = look.kind === 'gzip' ? 'gzip' : 'zip';
  if (look.kind === 'gzip') await inflateGzip(path, inner, limits);
  else await extractOne(path, look.name, inner, limits);
  const found = await lookAtFile(inner, options, limits);
  return { path: inner, text: found.text, sniffed: describeInner(found.look, compression) };
}

function describeInner(
  look: Awaited<ReturnType<typeof lookAtFile>>['look'],
  compression: 'gzip' | 'zip',
): SniffedFormat {
  if (look.kind !== 'gzip' && look.kind !== 'zipOfOne' && look.kind !== 'imageZip') {
    return { ...look, compression };
  }
  return {
    kind: 'unsupported',
    compression,
    found: `a ${look.kind === 'gzip' ? 'gzip' : 'zip'} inside a ${compression}`,
    advice: 'Unpack the outer one first.',
  };
}

async function extractOne(path: string, name: string, target: string, limits: ReadLimits): Promise<void> {
  await withZip(path, limits, async (archive) => {
    const entry = archive.entries.find((each) => each.name === name)!;
    await pipeline(archive.inflate(entry), createWriteStream(target));
  });
}
