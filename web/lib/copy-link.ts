// Copies the URL of the current view. Filters and selections are in the URL, so the link shows the same view to others.
import { say, sayError } from '../components/toasts.tsx';
import { copyText } from './copy-text.ts';

export function copyLink(): void {
  void copyText(location.href).then(() => say('Link copied'), sayError);
}
