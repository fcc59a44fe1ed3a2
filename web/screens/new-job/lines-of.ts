// Lines of a stream of text, as they arrive.

export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = parts.pop()!;
      for (const line of parts) if (line !== '') yield line;
    }
    if (rest !== '') yield rest;
  } finally {
    await reader.cancel().catch(() => {});
  }
}
