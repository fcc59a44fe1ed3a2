// Renders the few constructs of Go templates that the chart uses: values, `quote`, `toYaml … | nindent n`, `if` and
// `if not`. Anything else is an error, so that the chart does not outgrow its tests. It is not Helm.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';

interface Probe {
  httpGet: { path: string; port: string };
}

interface Container {
  args: string[];
  env: { name: string }[];
  envFrom?: object[];
  ports?: { name: string }[];
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  securityContext: object;
  volumeMounts: object[];
}

/** The parts that tests look at, of all kinds together. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  spec: {
    replicas?: number;
    selector: { matchLabels?: Record<string, string> };
    template: {
      metadata: { labels: Record<string, string> };
      spec: { securityContext: object; containers: [Container] };
    };
    scaleTargetRef: { name: string };
    triggers: [{ metadata: { query: string } }];
  };
}

type Tree = Record<string, unknown>;

export function renderChart(folder: string, overrides: Record<string, unknown> = {}): Manifest[] {
  const values = merged(parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Tree, overrides);
  const scope = { Values: values, Release: { Name: 'rows' } };
  return readdirSync(join(folder, 'templates')).flatMap((name) => {
    const text = render(readFileSync(join(folder, 'templates', name), 'utf8'), scope);
    return parseAllDocuments(text).map((document) => {
      if (document.errors.length > 0) throw new Error(`${name}: ${document.errors[0]!.message}\n${text}`);
      return document.toJS() as Manifest;
    });
  });
}

function merged(values: Tree, overrides: Tree): Tree {
  const result = { ...values };
  for (const [key, value] of Object.entries(overrides))
    result[key] = isTree(value) ? merged((values[key] ?? {}) as Tree, value) : value;
  return result;
}

function isTree(value: unknown): value is Tree {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function render(template: string, scope: object): string {
  const shown: boolean[] = [];
  let text = '';
  let at = 0;
  for (const match of template.matchAll(/\{\{(-?) ([^{}]*?) \}\}/g)) {
    const between = template.slice(at, match.index);
    if (shown.every(Boolean)) text += match[1] === '-' ? between.trimEnd() : between;
    at = match.index + match[0].length;
    const condition = /^if (not )?(\.[\w.]+)$/.exec(match[2]!);
    if (condition) shown.push(isTrue(lookUp(scope, condition[2]!)) !== (condition[1] !== undefined));
    else if (match[2] === 'end') shown.pop();
    else if (shown.every(Boolean)) text += renderedValue(match[2]!, scope);
  }
  if (shown.length > 0) throw new Error('an if has no end');
  return text + template.slice(at);
}

function renderedValue(action: string, scope: object): string {
  const block = /^toYaml (\.[\w.]+) \| nindent (\d+)$/.exec(action);
  if (block)
    return stringify(lookUp(scope, block[1]!))
      .trimEnd()
      .replaceAll(/^/gm, ' '.repeat(Number(block[2])))
      .replace(/^/, '\n');
  const plain = /^(\.[\w.]+)( \| quote)?$/.exec(action);
  if (!plain) throw new Error(`the renderer does not know {{ ${action} }}`);
  const value = lookUp(scope, plain[1]!);
  return plain[2] ? JSON.stringify(String(value)) : String(value);
}

function lookUp(scope: object, path: string): unknown {
  return path
    .slice(1)
    .split('.')
    .reduce((value: unknown, key) => {
      const found = (value as Tree)[key];
      if (found === undefined) throw new Error(`there is no value ${path}`);
      return found;
    }, scope);
}

/** As in Go templates: empty values are false. */
function isTrue(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}
