// The address of what is on the screen, for somebody else: what is chosen on a screen stands in it.
import { say, sayError } from '../components/toasts.tsx';
import { copyText } from './copy-text.ts';

export function copyLink(): void {
  void copyText(location.href).then(() => say('Link copied'), sayError);
}
