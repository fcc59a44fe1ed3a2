// Parts of the page are fetched when they are first shown. While the server is away they are waited for. Browsers keep a part
// that could not be fetched as missing, and a server that came back with another version has others: then the page is loaded
// anew, at the address where it was.
import { sayError } from '../components/toasts.tsx';
import { client } from './client.ts';

const ASK_AGAIN_MS = 1000;
/** A part that is missing so soon after the page was loaded anew is missing for good. */
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

/** All parts that are missing wait for the same answer, and it is said once that they do. */
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
