// Checks a definition once, when it is defined, so that nothing has to be checked at run time.
import { JOB_OUTPUTS } from '../core/files/output-format.ts';
import { distinctCounters, isCounter } from '../core/items/counter.ts';
import { isKeepDays, MAX_KEEP_DAYS } from '../core/jobs/retention.ts';
import { checkFields, checkKeys } from './check-keys.ts';
import { checkPhase } from './check-phase.ts';
import { invalidPipeline, kindOfValue } from './invalid-pipeline.ts';
import { checkResources } from './phase-resources.ts';
import { firstPhaseOf } from './phase-place.ts';
import type { Phase } from './pipeline.ts';
import { CALLBACKS } from './pipeline-callbacks.ts';
import type { PipelineDefinition } from './pipeline-definition.ts';

export function checkDefinition(definition: PipelineDefinition): void {
  if (typeof definition !== 'object' || definition === null) {
    throw invalidPipeline(
      `expected a pipeline definition, got ${kindOfValue(definition)}`,
      'Write definePipeline({ name: "prices", phases: [{ name: "lookup", run: async (row) => … }] }).',
    );
  }
  const { name, input, params, summary = [], strategies = [], resources = {}, counters = [] } = definition;
  const key = keyFields(definition);
  checkName(definition);
  checkSchema(`input of pipeline ${name}`, input, 'omit input to get rows as they are stored');
  checkKinds(definition);
  checkSchema(`params of pipeline ${name}`, params, 'omit params to accept anything');
  checkResources(name, resources);
  checkCounters(name, counters);
  checkNames(name, 'key', key);
  checkNames(name, 'summary', summary);
  checkNames(name, 'strategies', strategies, 'texts');
  checkFields(name, 'key', key, input);
  checkFields(name, 'summary', summary, input);
  if (new Set(strategies).size < strategies.length)
    throw invalidPipeline(
      `expected the strategies of pipeline ${name} to differ, got ${strategies.join(', ')}`,
    );
  checkOutputs(definition);
  checkKeepDays(definition);
  checkCostUnit(definition);
  checkPhases(definition);
  checkCallbacks(definition);
}

export function keyFields({ key = [] }: PipelineDefinition): readonly string[] {
  return typeof key === 'string' ? [key] : key;
}

function checkName({ name, version }: PipelineDefinition): void {
  if (typeof name !== 'string' || !/^[\w.-]{1,100}$/.test(name)) {
    throw invalidPipeline(
      `expected the pipeline name to be 1 to 100 letters, digits, dots, dashes or underscores, got ${JSON.stringify(name)}`,
      'Choose a permanent name: jobs are stored with it and find their pipeline by it.',
    );
  }
  if (version === undefined || version === null) return;
  if (typeof version !== 'string' || !/^[\w.+-]{1,100}$/.test(version))
    throw invalidPipeline(
      `expected the version of pipeline ${name} to be a short text such as 2 or 1.4.0, got ${JSON.stringify(version)}`,
    );
}

function checkSchema(what: string, schema: PipelineDefinition['input'], otherwise: string): void {
  if (schema === undefined || typeof schema?.['~standard']?.validate === 'function') return;
  throw invalidPipeline(
    `expected the ${what} to be a Standard Schema such as z.object(…), got ${kindOfValue(schema)}`,
    `Use zod from 3.24, valibot from 1.0 or arktype from 2.0, or ${otherwise}.`,
  );
}

function checkKinds({ name, kinds = {}, result = 'last' }: PipelineDefinition): void {
  if (result !== 'last' && result !== 'merge')
    throw invalidPipeline(
      `expected result of pipeline ${name} to be last or merge, got ${JSON.stringify(result)}`,
    );
  if (typeof kinds !== 'object' || kinds === null)
    throw invalidPipeline(
      `expected kinds of pipeline ${name} to be schemas by kind, got ${kindOfValue(kinds)}`,
      'Write kinds: { page: z.object({ url: z.string() }) }.',
    );
  for (const [kind, schema] of Object.entries(kinds)) {
    if (schema === undefined)
      throw invalidPipeline(`expected kind ${kind} of pipeline ${name} to have a schema`);
    checkSchema(
      `schema of kind ${kind} of pipeline ${name}`,
      schema,
      'describe any row with z.looseObject({})',
    );
  }
}

/** Rows of a kind run the phases of their kind from the first to the last, and rows of `input` start at phase 0. */
function checkKindsOfPhases({ name, kinds = {} }: PipelineDefinition, phases: readonly Phase[]): void {
  const known = Object.keys(kinds);
  for (const [index, { name: phase, kind }] of phases.entries()) {
    if (kind !== undefined && !known.includes(kind))
      throw invalidPipeline(
        `expected the kind of phase ${phase} of pipeline ${name} to be one of its kinds, got ${String(kind)}`,
        known.length === 0
          ? 'Add it to kinds of the pipeline, with its schema.'
          : `Its kinds are ${known.join(', ')}.`,
      );
    if (index === 0 && kind !== undefined)
      throw invalidPipeline(
        `expected the first phase of pipeline ${name} to have no kind, got ${kind}`,
        'Rows of a file have no kind: put their phases first.',
      );
    if (index > 0 && phases[index - 1]!.kind !== kind && firstPhaseOf(phases, kind) < index)
      throw invalidPipeline(
        `expected the phases of one kind of pipeline ${name} to be neighbours, got ${phase} apart from the others`,
        'Put the phases of each kind together.',
      );
  }
  const unused = known.find((kind) => firstPhaseOf(phases, kind) < 0);
  if (unused !== undefined)
    throw invalidPipeline(
      `expected pipeline ${name} to have a phase of kind ${unused}`,
      `Write kind: '${unused}' in the phases that its rows run.`,
    );
}

function checkCounters(pipeline: string, counters: readonly unknown[]): void {
  if (!Array.isArray(counters) || !counters.every(isCounter))
    throw invalidPipeline(
      `expected the counters of pipeline ${pipeline} to be a list of counters from defineCounter`,
      'Write counters: [annotations], with const annotations = defineCounter({ … }).',
    );
  distinctCounters(counters);
}

function checkNames(
  pipeline: string,
  what: string,
  names: readonly string[],
  of = 'names of input fields',
): void {
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string' || name === ''))
    throw invalidPipeline(`expected the ${what} of pipeline ${pipeline} to be ${of}`);
}

function checkOutputs({ name, outputs = [] }: PipelineDefinition): void {
  const unknown = outputs.find((format) => !JOB_OUTPUTS.includes(format));
  if (unknown === undefined) return;
  throw invalidPipeline(
    `expected the outputs of pipeline ${name} to be ${JOB_OUTPUTS.join(', ')}, got ${unknown}`,
  );
}

function checkKeepDays({ name, keepDays }: PipelineDefinition): void {
  if (keepDays === undefined || isKeepDays(keepDays)) return;
  throw invalidPipeline(
    `expected keepDays of pipeline ${name} to be a whole number of days from 0 to ${MAX_KEEP_DAYS}, got ${JSON.stringify(keepDays)}`,
    'Use 0 to keep its jobs for ever.',
  );
}

function checkCostUnit({ name, costUnit }: PipelineDefinition): void {
  if (costUnit === undefined) return;
  const isWord = typeof costUnit === 'string' && /^\p{L}[\p{L}\d ._-]{0,19}$/u.test(costUnit);
  if (!isWord)
    throw invalidPipeline(
      `expected costUnit of pipeline ${name} to be a currency code, tokens or a word of up to 20 characters, got ${JSON.stringify(costUnit)}`,
      "Write costUnit: 'EUR', costUnit: 'tokens' or costUnit: 'credits'.",
    );
  if (/^[A-Z]{3}$/.test(costUnit) && !Intl.supportedValuesOf('currency').includes(costUnit))
    throw invalidPipeline(
      `expected costUnit of pipeline ${name} to be an ISO currency code such as EUR, got ${costUnit}`,
      'Write a unit that is not a currency in lower case.',
    );
}

function checkPhases(definition: PipelineDefinition): void {
  const { name, phases, resources = {}, strategies = [] } = definition;
  if (!Array.isArray(phases) || phases.length === 0)
    throw invalidPipeline(
      `expected pipeline ${name} to have at least one phase, got ${Array.isArray(phases) ? 'none' : kindOfValue(phases)}`,
      'Write phases: [{ name: "lookup", run: async (row) => … }].',
    );
  checkKeys(definition);
  const seen = new Set<string>();
  for (const [index, phase] of (phases as Phase[]).entries()) {
    if (typeof phase?.name !== 'string' || phase.name === '')
      throw invalidPipeline(
        `expected every phase of pipeline ${name} to have a name, number ${index + 1} has none`,
        'Write { name: "lookup", run: async (row) => … }.',
      );
    if (seen.has(phase.name))
      throw invalidPipeline(
        `pipeline ${name} has two phases named ${phase.name}`,
        'Give each phase a different name.',
      );
    seen.add(phase.name);
    checkPhase(name, phase, { resources, strategies });
  }
  checkKindsOfPhases(definition, phases as Phase[]);
}

function checkCallbacks(definition: PipelineDefinition): void {
  for (const key of CALLBACKS) {
    const callback: unknown = definition[key];
    if (callback === undefined || typeof callback === 'function') continue;
    throw invalidPipeline(
      `expected ${key} of pipeline ${definition.name} to be a function, got ${kindOfValue(callback)}`,
      `Write ${key}: async (…, context) => …, without calling it.`,
    );
  }
}
