// A client that asked for something and takes nothing of it holds memory, and of a download also a place among the exports: it
// is dropped.
import type { ServerResponse } from 'node:http';

export function dropIdleReader(response: ServerResponse, idleMs: number): void {
  response.setTimeout(idleMs, () => {
    const { socket } = response;
    if (!socket) return;
    // Nothing waits for the reader: it is us who take our time.
    if (socket.writableLength === 0 && response.writableLength === 0) socket.setTimeout(idleMs);
    else socket.destroy();
  });
}
