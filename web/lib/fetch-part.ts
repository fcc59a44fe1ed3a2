// Parts of the page are fetched when they are first shown. While the server is away they are waited for; a server that
// came back with another version has other parts, and the page is loaded anew.
import { sayError } from '../components/toasts.tsx';
import { client } from './client.ts';

const ASK_AGAIN_MS = 1000;
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
      if (failures === 0)
        sayError(new Error('The server could not be reached. What you opened is shown when it is back.'));
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
  }
}

/** Once: a part that is missing afterwards too is an error. */
function loadAnew(error: unknown): Promise<never> {
  const missing = error instanceof Error ? error.message : String(error);
  if (sessionStorage.getItem(RELOADED) === missing) throw error;
  sessionStorage.setItem(RELOADED, missing);
  location.reload();
  return new Promise(() => {});
}
