// Reads a response that is a file.

export interface Download {
  name: string;
  contentType: string;
  /** Null if the size is not known in advance. */
  bytes: number | null;
  /** Must be read or cancelled. */
  stream: ReadableStream<Uint8Array>;
}

export function readDownload(response: Response): Download {
  const length = response.headers.get('content-length');
  // The length of a compressed response is not the length of its content.
  const isPlain = response.headers.get('content-encoding') === null;
  return {
    name: nameOf(response.headers.get('content-disposition') ?? ''),
    contentType: response.headers.get('content-type') ?? 'application/octet-stream',
    bytes: length !== null && isPlain ? Number(length) : null,
    stream: response.body ?? new Blob([]).stream(),
  };
}

/** RFC 6266: prefers the encoded name. Removes characters that could lead to another folder. */
function nameOf(disposition: string): string {
  const encoded = /filename\*=UTF-8''([^;\s]+)/i.exec(disposition)?.[1];
  const plain = /filename="([^"]*)"/i.exec(disposition)?.[1];
  const name = (encoded === undefined ? undefined : decoded(encoded)) ?? plain ?? '';
  const safe = name.replace(/[\p{Cc}/\\]/gu, '_');
  return /^\.*$/.test(safe) ? 'download' : safe;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
