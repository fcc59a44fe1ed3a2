// The form for a new job: pipeline, file, preview and options. Nothing is stored or charged before the last button.
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { Section } from '../../components/section.tsx';
import { say } from '../../components/toasts.tsx';
import { client } from '../../lib/client.ts';
import { useConfiguration } from '../../lib/configuration.ts';
import { usePermission } from '../../lib/permission.ts';
import { newJobRoute } from '../../routes/router.tsx';
import { FailedScreen } from '../failed-screen.tsx';
import { ChooseFile } from './choose-file.tsx';
import { ChoosePipeline, type Pipeline } from './choose-pipeline.tsx';
import { chooseColumn, columnChoices, type Mapping, missingRequired, seenMapping } from './column-choices.ts';
import { type EstimateWords, estimateWords, rowsToRun } from './estimate-words.ts';
import { JobOptions } from './job-options.tsx';
import { ParamsForm } from './params-form.tsx';
import { PreviewPanel } from './preview-panel.tsx';
import { isUnbounded, NO_OPTIONS, readJobOptions } from './read-job-options.ts';
import { type FormTexts, fieldsOfSchema, readForm } from './schema-form.ts';
import { UploadPanel } from './upload-panel.tsx';
import { isCheckedAlone } from './preview-part.ts';
import { type UploadPoint, useCheck } from './use-check.ts';
import { type ChosenFile, type FormatOptions, usePreview } from './use-preview.ts';
import { useStartJob } from './use-start-job.ts';

export function NewJobScreen() {
  const whyNot = usePermission().whyNot('createJob', 'previewJob', 'createUpload', 'listSources');
  if (whyNot !== null)
    return (
      <EmptyState isScreen title="You don't have permission to create jobs">
        {whyNot}
      </EmptyState>
    );
  return <CreateJob />;
}

function CreateJob() {
  const pipelines = useQuery({ queryKey: ['pipelines'], queryFn: () => client.listPipelines() });
  const sources = useQuery({ queryKey: ['sources'], queryFn: () => client.listSources() });
  const { pipeline: wanted } = newJobRoute.useSearch();
  const navigate = useNavigate({ from: '/jobs/new' });
  if (pipelines.isError && !pipelines.data) return <FailedScreen error={pipelines.error} />;
  if (!pipelines.data) return <p className="p-6 text-muted">Loading…</p>;
  const { items } = pipelines.data;
  if (items.length === 0) return <NoPipelines />;
  const chosen = items.find(({ name }) => name === wanted) ?? (items.length === 1 ? items[0] : undefined);
  return (
    <NewJobForm
      pipelines={items}
      sources={sources.data?.items ?? []}
      pipeline={chosen}
      onPipeline={(name) => void navigate({ search: { pipeline: name }, replace: true })}
    />
  );
}

function NoPipelines() {
  return (
    <EmptyState isScreen title="No pipelines yet">
      <p>Pipelines are code that runs on each row. Start the server and a worker with your pipeline file:</p>
      <pre className="mt-3 rounded-md bg-sunken p-3 text-left font-mono text-xs break-words whitespace-pre-wrap">
        {'rowmill server pipelines/price-lookup.ts\nrowmill worker pipelines/price-lookup.ts'}
      </pre>
    </EmptyState>
  );
}

interface NewJobFormProps {
  pipelines: readonly Pipeline[];
  sources: readonly { name: string; kind: string; pipeline: string }[];
  pipeline: Pipeline | undefined;
  onPipeline: (name: string) => void;
}

function NewJobForm({ pipelines, sources, pipeline, onPipeline }: NewJobFormProps) {
  const navigate = useNavigate();
  const configuration = useConfiguration();
  const [chosen, setChosen] = useState<ChosenFile | null>(null);
  const [format, setFormat] = useState<FormatOptions>({});
  const [mapping, setMapping] = useState<Mapping>({});
  const [evenLarge, setEvenLarge] = useState(false);
  const [params, setParams] = useState<FormTexts>({});
  const [options, setOptions] = useState(NO_OPTIONS);
  const [isTried, setTried] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const preview = usePreview({ chosen, pipeline: pipeline?.name, format, mapping, evenLarge });
  const point = useRef<UploadPoint>({ of: '', uploadId: null });
  const { state, start, pause, resume, cancel } = useStartJob(point, ({ jobId, created }) => {
    if (!created) say("You've already uploaded this file — here's its job.");
    else say(options.hold ? 'Job created' : 'Job started');
    void navigate({ to: '/jobs/$jobId', params: { jobId } });
  });

  const seen = preview.data?.tooLarge === false ? preview.data.preview : null;
  const choices = seen && columnChoices(seen, fieldsOfSchema(pipeline?.input ?? null), mapping);
  const lacking = choices ? missingRequired(choices) : [];
  const shownMapping = seenMapping(choices ?? [], mapping);
  const isMisread = seen !== null && seen.top !== null && seen.top.refusal !== null;
  const check = useCheck(
    {
      chosen,
      pipeline: pipeline?.name,
      format,
      mapping: shownMapping,
      isAutomatic:
        pipeline?.input != null &&
        !preview.isFetching &&
        seen !== null &&
        !seen.checked.wholeFile &&
        !isMisread &&
        lacking.length === 0 &&
        chosen?.kind === 'file' &&
        isCheckedAlone(chosen.file),
    },
    point,
  );
  const checked = check.state.step === 'done' ? check.state.checked : seen?.checked;
  const paramFields = fieldsOfSchema(pipeline?.params ?? null);
  const readParams = readForm(paramFields, params);
  const readOptions = readJobOptions(options);
  const wrong = { ...readParams.problems, ...readOptions.problems };
  const problems = isTried ? wrong : {};
  const blocker = !pipeline
    ? 'Choose a pipeline.'
    : !chosen
      ? 'Choose a file.'
      : isMisread
        ? 'Choose the header row.'
        : lacking.length > 0
          ? `Match the required ${lacking.length === 1 ? 'column' : 'columns'}: ${lacking.join(', ')}.`
          : null;

  const choose = (next: ChosenFile | null) => {
    setChosen(next);
    setFormat({});
    setMapping({});
    setEvenLarge(false);
  };
  const changeFormat = (next: FormatOptions) => {
    setFormat(next);
    // The columns may have different names now.
    setMapping({});
  };
  const begin = () => {
    if (!pipeline || !chosen) return;
    check.stop();
    void start(chosen, {
      pipeline: pipeline.name,
      ...readOptions.values,
      ...(paramFields.length > 0 && { params: readParams.values }),
      ...(Object.keys(format).length > 0 && { format }),
      ...(Object.keys(shownMapping).length > 0 && { mapping: { ...shownMapping } }),
    });
  };
  const tryToStart = () => {
    setTried(true);
    if (Object.keys(wrong).length > 0) return;
    if (pipeline?.paid && isUnbounded(readOptions.values)) setAsking(true);
    else begin();
  };
  return (
    <Page title="New job" intro="Nothing runs or is charged until you start.">
      <Section title="1. Choose a pipeline">
        <ChoosePipeline pipelines={pipelines} chosen={pipeline} onChoose={onPipeline} />
      </Section>
      <Section title="2. Upload your file">
        <ChooseFile
          chosen={chosen}
          sources={sources.filter((source) => !pipeline || source.pipeline === pipeline.name)}
          samples={configuration.data?.samples ?? []}
          maxBytes={configuration.data?.limits.uploadMaxBytes ?? null}
          onChoose={choose}
        />
      </Section>
      {chosen && (
        <PreviewPanel
          query={preview}
          check={check}
          choices={choices ?? []}
          isChecked={pipeline !== undefined}
          format={format}
          onFormat={changeFormat}
          onChoose={(field, header) => setMapping(chooseColumn(mapping, field, header))}
          onEvenLarge={() => setEvenLarge(true)}
        />
      )}
      {chosen && pipeline && (
        <Section title="4. Options">
          <div className="flex flex-col gap-5">
            {paramFields.length > 0 && (
              <ParamsForm
                fields={paramFields}
                texts={params}
                problems={problems}
                onChange={(name, text) => setParams({ ...params, [name]: text })}
              />
            )}
            <JobOptions
              options={options}
              problems={problems}
              suggestedName={chosen.kind === 'file' ? chosen.file.name : chosen.path}
              isPaid={pipeline.paid}
              onChange={(change) => setOptions({ ...options, ...change })}
            />
          </div>
        </Section>
      )}
      <UploadPanel state={state} onPause={pause} onResume={resume} onCancel={cancel} onRetry={begin} />
      {state.step !== 'sending' && state.step !== 'paused' && (
        <div className="flex flex-wrap items-center justify-end gap-3">
          {seen?.estimate && blocker === null && (
            <StartEstimate
              words={estimateWords(
                seen.estimate,
                rowsToRun(checked!, readOptions.values.trial),
                pipeline?.costUnit ?? null,
              )}
            />
          )}
          {blocker !== null && <p className="text-muted">{blocker}</p>}
          {Object.keys(problems).length > 0 && (
            <p role="alert" className="text-bad">
              Please fix the highlighted fields.
            </p>
          )}
          <Button kind="primary" disabled={blocker !== null} onClick={tryToStart}>
            {startWords(options.hold, readOptions.values.trial)}
          </Button>
        </div>
      )}
      <Confirm
        open={isAsking}
        onClose={() => setAsking(false)}
        title="Start without a budget?"
        action="Start anyway"
        onConfirm={async () => begin()}
      >
        This pipeline is paid and no budget is set. Set a budget, or test a few rows first.
      </Confirm>
    </Page>
  );
}

function StartEstimate({ words: { rows, cost, time } }: { words: EstimateWords }) {
  return (
    <dl aria-label="Estimate" className="mr-auto flex flex-wrap gap-x-4 gap-y-1 text-[13px] text-muted">
      <div>
        <dt className="sr-only">Rows</dt>
        <dd>{rows}</dd>
      </div>
      {cost !== null && (
        <div>
          <dt className="sr-only">Cost</dt>
          <dd>{cost}</dd>
        </div>
      )}
      <div>
        <dt className="sr-only">Time</dt>
        <dd>{time}</dd>
      </div>
    </dl>
  );
}

function startWords(hold: boolean, trial: number | undefined): string {
  if (hold) return 'Upload only';
  return trial === undefined ? 'Start job' : 'Start test run';
}
