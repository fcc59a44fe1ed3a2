// A search field that reports its text after a pause in typing.
import { useEffect, useState } from 'react';
import { classNames } from '../lib/class-names.ts';
import { inputClass } from './field.tsx';

export interface SearchBoxProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
  className?: string;
}

const PAUSE_MS = 250;

export function SearchBox({ label, value, onChange, className }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const [told, setTold] = useState(value);
  // The URL changed by other means than this box, such as the back button.
  if (value !== told) {
    setTold(value);
    setText(value);
  }
  useEffect(() => {
    if (text === told) return;
    const timer = setTimeout(() => {
      setTold(text);
      onChange(text);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, told, onChange]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      className={classNames(inputClass, 'sm:max-w-64', className)}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
