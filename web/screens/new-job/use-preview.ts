// The preview of the selected file, refetched whenever an option changes.
import { useQuery } from '@tanstack/react-query';
import type { z } from 'zod';
import type { formatOptions } from '../../../src/contract/new-job.ts';
import { client } from '../../lib/client.ts';
import type { Mapping, Preview } from './column-choices.ts';
import { partForPreview, WHOLE_BYTES_MAX } from './preview-part.ts';

export type FormatOptions = z.input<typeof formatOptions>;

export type ChosenFile = { kind: 'file'; file: File } | { kind: 'source'; name: string; path: string };

export interface PreviewQuestion {
  chosen: ChosenFile | null;
  pipeline: string | undefined;
  format: FormatOptions;
  mapping: Mapping;
  /** Preview even if a large file must be uploaded whole. */
  evenLarge: boolean;
}

/** Too large to upload for a preview without asking. */
export interface PreviewTooLarge {
  tooLarge: true;
}

export interface PreviewAnswer {
  tooLarge: false;
  preview: Preview;
}

const SHOWN_ROWS = 100;

export function usePreview(question: PreviewQuestion) {
  const { chosen, pipeline, format, mapping, evenLarge } = question;
  return useQuery<PreviewAnswer | PreviewTooLarge>({
    queryKey: ['preview', chosen && keyOf(chosen), pipeline, format, mapping, evenLarge],
    enabled: chosen !== null,
    staleTime: Number.POSITIVE_INFINITY,
    // The previous preview stays visible until the new one arrives.
    placeholderData: (before, query) =>
      chosen !== null && query?.queryKey[1] === keyOf(chosen) ? before : undefined,
    queryFn: ({ signal }) => ask(question, signal),
  });
}

export function keyOf(chosen: ChosenFile): string {
  return chosen.kind === 'source'
    ? `source ${chosen.name} ${chosen.path}`
    : `file ${chosen.file.name} ${chosen.file.size} ${chosen.file.lastModified}`;
}

async function ask(
  { chosen, pipeline, format, mapping, evenLarge }: PreviewQuestion,
  signal: AbortSignal,
): Promise<PreviewAnswer | PreviewTooLarge> {
  const given = {
    rows: SHOWN_ROWS,
    guess: true,
    ...(pipeline !== undefined && { pipeline }),
    ...(Object.keys(format).length > 0 && { format }),
    ...(Object.keys(mapping).length > 0 && { mapping: { ...mapping } }),
  };
  if (chosen?.kind === 'source') {
    const { name, path } = chosen;
    return {
      tooLarge: false,
      preview: await client.previewJob({ ...given, source: { name, path } }, { signal }),
    };
  }
  const { file } = chosen!;
  const part = await partForPreview(file);
  if (part.isWhole && file.size > WHOLE_BYTES_MAX && !evenLarge) return { tooLarge: true };
  const preview = await client.preview(part.bytes, given, { signal, fileName: file.name });
  const looked = { ...preview.looked, wholeFile: preview.looked.wholeFile && part.isWhole };
  const checked = { ...preview.checked, wholeFile: preview.checked.wholeFile && part.isWhole };
  const sent = { name: file.name, bytes: file.size };
  return { tooLarge: false, preview: { ...preview, looked, checked, file: sent } };
}
