// Selects the pipeline, and shows its phases, expected columns and whether it is paid.
import { ChevronRight } from 'lucide-react';
import type { z } from 'zod';
import type { pipeline as pipelineSchema } from '../../../src/contract/operations.ts';
import { SelectField } from '../../components/select-field.tsx';
import { fieldsOfSchema, KIND_WORDS } from './schema-form.ts';
import { templateHref } from './template-of.ts';

export type Pipeline = z.infer<typeof pipelineSchema>;

export interface ChoosePipelineProps {
  pipelines: readonly Pipeline[];
  chosen: Pipeline | undefined;
  onChoose: (name: string) => void;
}

export function ChoosePipeline({ pipelines, chosen, onChoose }: ChoosePipelineProps) {
  return (
    <div className="flex flex-col gap-3">
      <SelectField
        label="Pipeline"
        className="max-w-sm"
        value={chosen?.name ?? ''}
        onChange={(event) => onChoose(event.target.value)}
        choices={[
          ...(chosen ? [] : ([['', 'Select…']] as const)),
          ...pipelines.map(({ name }) => [name, name] as const),
        ]}
      />
      {chosen && <PipelineWords pipeline={chosen} />}
    </div>
  );
}

function PipelineWords({ pipeline }: { pipeline: Pipeline }) {
  const fields = fieldsOfSchema(pipeline.input);
  return (
    <dl className="grid gap-x-4 gap-y-1.5 text-[13px] sm:grid-cols-[auto_1fr]">
      <dt className="text-muted">Phases</dt>
      <dd>
        <ol className="flex flex-wrap gap-x-1">
          {pipeline.phases.map(({ name }, at) => (
            <li key={name} className="flex items-center gap-1">
              {at > 0 && <ChevronRight size={14} className="text-muted" aria-hidden />}
              {name}
            </li>
          ))}
        </ol>
      </dd>
      <dt className="text-muted">Expected columns</dt>
      <dd>
        {fields.length === 0 ? (
          'any columns'
        ) : (
          <ul className="flex flex-wrap gap-1.5">
            {fields.map(({ name, required, kind }) => (
              <li key={name} className="rounded bg-sunken px-1.5 font-mono text-xs leading-5">
                {name}
                <span className="text-muted">
                  {KIND_WORDS[kind] && ` · ${KIND_WORDS[kind]}`}
                  {!required && ' · optional'}
                </span>
              </li>
            ))}
            <li>
              <a
                className="text-accent underline"
                href={templateHref(fields)}
                download={`${pipeline.name}-template.csv`}
              >
                Download template
              </a>
            </li>
          </ul>
        )}
      </dd>
      {pipeline.paid && (
        <>
          <dt className="text-muted">Cost</dt>
          <dd>Paid{pipeline.costUnit !== null && `, in ${pipeline.costUnit}`}. Set a budget below.</dd>
        </>
      )}
    </dl>
  );
}
