// The text of a cell, as a link if it is a URL.
import { linkOf } from '../../../lib/link-of.ts';

export function CellValue({ text }: { text: string }) {
  const address = linkOf(text);
  if (address === null) return text;
  return (
    <a
      href={address}
      target="_blank"
      rel="noopener noreferrer"
      className="text-accent underline-offset-2 hover:underline"
    >
      {text}
    </a>
  );
}
