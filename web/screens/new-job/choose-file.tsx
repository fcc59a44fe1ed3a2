// Selects a local file, dropped or picked, or a file of a configured source.
import { useMutation } from '@tanstack/react-query';
import { FileUp } from 'lucide-react';
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { SelectField } from '../../components/select-field.tsx';
import { classNames } from '../../lib/class-names.ts';
import { client } from '../../lib/client.ts';
import { formatBytes } from '../../lib/format.ts';
import type { ChosenFile } from './use-preview.ts';

export interface ChooseFileProps {
  chosen: ChosenFile | null;
  sources: readonly { name: string; kind: string }[];
  /** Names of sample files of the project. */
  samples: readonly string[];
  maxBytes: number | null;
  onChoose: (chosen: ChosenFile | null) => void;
}

export function ChooseFile({ chosen, sources, samples, maxBytes, onChoose }: ChooseFileProps) {
  if (chosen)
    return (
      <div className="flex flex-wrap items-center justify-between gap-3 rounded-md bg-sunken px-4 py-3">
        <p className="min-w-0 break-words">
          <span className="font-medium">{chosen.kind === 'file' ? chosen.file.name : chosen.path}</span>{' '}
          <span className="text-muted">
            {chosen.kind === 'file' ? formatBytes(chosen.file.size) : `from ${chosen.name}`}
          </span>
        </p>
        <Button size="small" onClick={() => onChoose(null)}>
          Replace
        </Button>
      </div>
    );
  return (
    <div className="flex flex-col gap-4">
      <DropZone maxBytes={maxBytes} onFile={(file) => onChoose({ kind: 'file', file })} />
      {samples.length > 0 && (
        <ChooseSample samples={samples} onFile={(file) => onChoose({ kind: 'file', file })} />
      )}
      {sources.length > 0 && (
        <ChooseSource sources={sources} onChoose={(name, path) => onChoose({ kind: 'source', name, path })} />
      )}
    </div>
  );
}

function DropZone({ maxBytes, onFile }: { maxBytes: number | null; onFile: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const hintId = useId();
  const isOver = useDroppedFile(onFile);
  return (
    <div
      role="group"
      aria-label="File"
      className={classNames(
        'flex flex-col items-center gap-3 rounded-lg border-2 border-dashed border-line px-4 py-10 text-center',
        isOver && 'border-accent bg-accent-soft',
      )}
    >
      <FileUp size={28} className="text-muted" aria-hidden />
      <p className="font-medium">Drop your file here</p>
      <Button onClick={() => input.current?.click()} aria-describedby={hintId}>
        Browse files
      </Button>
      <input
        ref={input}
        type="file"
        aria-label="File to upload"
        tabIndex={-1}
        className="sr-only"
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          if (file) onFile(file);
          // Allows picking the same file again after an edit.
          event.target.value = '';
        }}
      />
      <p id={hintId} className="max-w-prose text-[13px] text-muted">
        CSV, TSV, Excel, JSON, JSON Lines, URL lists or a ZIP of images, also gzipped
        {maxBytes !== null && ` (up to ${formatBytes(maxBytes)})`}. The first row should contain column names.
      </p>
    </div>
  );
}

/** Takes a file dropped anywhere on the page: outside the frame the browser would open it and leave. */
function useDroppedFile(onFile: (file: File) => void): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFile);
  useEffect(() => {
    latest.current = onFile;
  }, [onFile]);
  useEffect(() => {
    const over = (event: DragEvent): void => {
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      setOver(false);
      const [file] = event.dataTransfer?.files ?? [];
      if (file) latest.current(file);
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, []);
  return isOver;
}

function ChooseSample({ samples, onFile }: { samples: readonly string[]; onFile: (file: File) => void }) {
  const fetching = useMutation({
    mutationFn: async (name: string) => {
      const { stream } = await client.getSample({ name });
      return new File([await new Response(stream).blob()], name);
    },
    onSuccess: onFile,
  });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <p className="text-muted">Or try a sample file</p>
      {samples.map((name) => (
        <Button key={name} disabled={fetching.isPending} onClick={() => fetching.mutate(name)}>
          {name}
        </Button>
      ))}
      {fetching.error && <FailureNote error={fetching.error} />}
    </div>
  );
}

function ChooseSource({
  sources,
  onChoose,
}: {
  sources: ChooseFileProps['sources'];
  onChoose: (name: string, path: string) => void;
}) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    onChoose(String(form.get('source')), String(form.get('path')).trim());
  };
  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
      <SelectField
        label="Or use a connected source"
        name="source"
        className="w-auto min-w-40"
        choices={sources.map(({ name, kind }) => [name, `${name} (${kind})`] as const)}
      />
      <div className="min-w-48 flex-1">
        <TextField label="File path" name="path" required placeholder="incoming/products.csv" />
      </div>
      <Button type="submit">Use this file</Button>
    </form>
  );
}
