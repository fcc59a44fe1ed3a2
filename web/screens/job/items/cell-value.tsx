// A value in a cell: text, or a link when the text is an address and nothing else.
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
