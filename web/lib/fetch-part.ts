// Loads code of the page when it is first shown. While the server is unreachable, it waits. Browsers remember a failed
// import as missing, and a server that returns with another version has other files: then the page reloads at its
// current URL.
import { sayError } from '../components/toasts.tsx';
import { client } from './client.ts';

const ASK_AGAIN_MS = 1000;
/** A part that is still missing this soon after a reload is missing for good. */
const RELOADED_LATELY_MS = 10_000;
const RELOADED = 'rowmill-reloaded';

export async function fetchPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch {
    await serverAnswers();
    return load().catch(loadAnew);
  }
}

/** All missing parts wait for the same answer, and one message reports it. */
let waiting: Promise<void> | null = null;

function serverAnswers(): Promise<void> {
  waiting ??= askForAnswer().finally(() => {
    waiting = null;
  });
  return waiting;
}

async function askForAnswer(): Promise<void> {
  for (let failures = 0; ; failures += 1) {
    try {
      await client.getHealth();
      return;
    } catch {
      if (failures === 0) sayError(new Error("Can't reach the server. Reconnecting…"));
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }
}

function loadAnew(error: unknown): Promise<never> {
  const atMs = Number(sessionStorage.getItem(RELOADED) ?? 0);
  if (Date.now() - atMs < RELOADED_LATELY_MS) throw error;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
  return new Promise(() => {});
}
