// A secret that is shown only once, with a button to copy it.
import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { copyText } from '../lib/copy-text.ts';
import { Button } from './button.tsx';
import { TextField } from './field.tsx';
import { sayError } from './toasts.tsx';

export function ShownOnce({ label, text }: { label: string; text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => void copyText(text).then(() => setCopied(true), sayError);
  return (
    <div className="flex items-start gap-2">
      <div className="min-w-0 flex-1">
        <TextField
          label={label}
          hint="Copy it now — you won't see it again."
          readOnly
          value={text}
          className="font-mono text-[13px]"
          onFocus={(event) => event.target.select()}
        />
      </div>
      <Button onClick={copy} className="mt-6">
        {isCopied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}
