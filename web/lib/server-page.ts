// Values that the server wrote into the page: the base path, and the nonce for styles that libraries inject.
import { setNonce } from 'get-nonce';

function metaContent(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
}

export const basePath = metaContent('rowmill-path');

export function applyNonce(): void {
  const nonce = metaContent('rowmill-nonce');
  if (nonce !== '') setNonce(nonce);
}
