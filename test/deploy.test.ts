// The files in deploy/ fit the product: their commands, options, settings and paths exist.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { CommandNode } from '../src/cli/command-tree.ts';
import { NUMBER_SETTINGS, TEXT_SETTINGS } from '../src/platform/setting-table.ts';
import { jobWithItems } from './support/job-factory.ts';
import { type Manifest, renderChart } from './support/render-chart.ts';
import { useTestDatabase } from './support/test-database.ts';

const read = (path: string): string => readFileSync(path, 'utf8');

/** Variables that other programs read. */
const FOREIGN = ['DATABASE_URL', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'NODE_ENV', 'JITI_FS_CACHE'];
const settingVariables = [...Object.keys(NUMBER_SETTINGS), ...Object.keys(TEXT_SETTINGS)].map((key) =>
  key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
);

const database = useTestDatabase();
let nodes: CommandNode[];
beforeAll(() => {
  const main = resolve('dist/cli/main.js');
  nodes = JSON.parse(execFileSync(process.execPath, [main, 'completion', 'json'], { encoding: 'utf8' }));
});

/** Null when the command and its options exist. */
function faultOf([name, ...rest]: readonly string[]): string | null {
  const node = nodes.find(({ words }) => words.join(' ') === name);
  if (node === undefined) return `no command ${name}`;
  const known = node.options.flatMap(({ names }) => names);
  const unknown = rest.find((word) => word.startsWith('--') && !known.includes(word));
  return unknown === undefined ? null : `no option ${unknown} of ${name}`;
}

interface Service {
  image: string;
  command?: string[];
  environment?: Record<string, string>;
  build?: { dockerfile: string };
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  read_only?: boolean;
  volumes?: string[];
}
interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, null>;
}

describe('the Dockerfile', () => {
  const text = read('deploy/Dockerfile');
  const manifest = JSON.parse(read('package.json')) as { files: string[]; bin: { rowmill: string } };

  it('starts the command line of the package, with a command that exists', () => {
    expect(text).toContain(`ENTRYPOINT ["/nodejs/bin/node", "node_modules/rowmill/${manifest.bin.rowmill}"]`);
    const command = /^CMD (\[.*\])$/m.exec(text)![1]!;
    expect(faultOf(JSON.parse(command) as string[])).toBeNull();
  });

  it('is part of the package', () => {
    expect(manifest.files).toContain('deploy');
  });

  it('sets variables that are read', () => {
    const names = Array.from(/^ENV (.*)$/m.exec(text)![1]!.matchAll(/(\w+)=/g), ([, name]) => name!);
    expect(names.filter((name) => ![...settingVariables, ...FOREIGN].includes(name))).toEqual([]);
    expect(names).toContain('API_HOST');
  });

  it('does not run as root', () => {
    expect(text).toMatch(/^USER [1-9]\d+:[1-9]\d+$/m);
  });
});

describe('the Compose file', () => {
  const { services, volumes } = parse(read('deploy/compose.yaml'), { merge: true }) as Compose;
  const own = Object.entries(services).filter(([, { image }]) => image === 'rowmill-project');

  it('runs a server, workers and a migration before them', () => {
    expect(own.map(([name]) => name).toSorted()).toEqual(['migrate', 'server', 'worker']);
    for (const name of ['server', 'worker'])
      expect(services[name]!.depends_on!.migrate!.condition).toBe('service_completed_successfully');
  });

  it.each(own)('%s has a command, options and variables that exist', (_name, service) => {
    expect(faultOf(service.command!)).toBeNull();
    const names = Object.keys(service.environment!);
    expect(names.filter((name) => ![...settingVariables, ...FOREIGN].includes(name))).toEqual([]);
    expect(service.build!.dockerfile).toBe('node_modules/rowmill/deploy/Dockerfile');
    expect(service.read_only).toBe(true);
  });

  it('depends only on services and volumes that it has', () => {
    const used = Object.values(services).flatMap(({ depends_on }) => Object.keys(depends_on ?? {}));
    expect(used.filter((name) => services[name] === undefined)).toEqual([]);
    const mounted = Object.values(services).flatMap((each) => each.volumes ?? []);
    expect(mounted.map((mount) => mount.split(':')[0])).toEqual(Object.keys(volumes));
  });

  it('waits for health that each such service reports', () => {
    const healthy = Object.values(services).flatMap(({ depends_on }) =>
      Object.entries(depends_on ?? {}).filter(([, { condition }]) => condition === 'service_healthy'),
    );
    expect(healthy.length).toBeGreaterThan(1);
    for (const [name] of healthy) expect(services[name]!.healthcheck, name).toBeDefined();
  });

  it('takes every secret from compose.env', () => {
    const named = new Set(Array.from(read('deploy/compose.yaml').matchAll(/\$\{(\w+)/g), ([, name]) => name));
    const given = Array.from(read('deploy/compose.env').matchAll(/^(\w+)=/gm), ([, name]) => name);
    expect([...named].toSorted()).toEqual(given.toSorted());
  });
});

describe('the Helm chart', () => {
  const folder = 'deploy/helm/rowmill';
  const everything = {
    autoscaling: { enabled: true },
    ingress: { enabled: true },
    blobStoreSecret: 'files',
    env: [{ name: 'DRAIN_MS', value: '20000' }],
  };
  const plain = renderChart(folder);
  const full = renderChart(folder, everything);
  const kindsOf = (manifests: Manifest[]) => manifests.map(({ kind }) => kind).toSorted();
  const pods = (manifests: Manifest[]) =>
    manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job').map(({ spec }) => spec.template);

  it('has servers, workers and a migration, and the rest on request', () => {
    const always = [
      'Deployment',
      'Deployment',
      'Job',
      'PodDisruptionBudget',
      'PodDisruptionBudget',
      'Service',
    ];
    expect(kindsOf(plain)).toEqual(always);
    expect(kindsOf(full)).toEqual([...always, 'Ingress', 'ScaledObject'].toSorted());
    const job = plain.find(({ kind }) => kind === 'Job')!;
    expect(job.metadata.annotations!['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(parse(read(`${folder}/Chart.yaml`))).toMatchObject({ version, appVersion: version });
  });

  it('starts commands that exist, with variables that are read, from secrets', () => {
    for (const pod of pods(full)) {
      const [container] = pod.spec.containers;
      expect(faultOf(container.args)).toBeNull();
      const names = container.env.map(({ name }) => name);
      expect(names.filter((name) => ![...settingVariables, ...FOREIGN].includes(name))).toEqual([]);
      expect(names).toContain('DRAIN_MS');
      expect(container.env[0]).toMatchObject({
        name: 'DATABASE_URL',
        valueFrom: { secretKeyRef: { name: 'rowmill-database', key: 'DATABASE_URL' } },
      });
      expect(container.envFrom).toEqual([{ secretRef: { name: 'files' } }]);
    }
  });

  it('runs without root on a read-only file system, with probes of ports that it opens', () => {
    expect(pods(plain)).toHaveLength(3);
    for (const { spec } of pods(plain)) {
      const [container] = spec.containers;
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532 });
      expect(container.securityContext).toMatchObject({
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.volumeMounts).toEqual([{ name: 'tmp', mountPath: '/tmp' }]);
      const ports = (container.ports ?? []).map(({ name }) => name);
      for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
        if (probe) expect(ports).toContain(probe.httpGet.port);
    }
  });

  it('selects the pods that it creates', () => {
    const labels = pods(full).map(({ metadata }) => metadata.labels);
    const selectors = full
      .filter(({ kind }) => ['Deployment', 'Service', 'PodDisruptionBudget'].includes(kind))
      .map(({ spec }) => spec.selector.matchLabels ?? spec.selector);
    expect(selectors).toHaveLength(5);
    for (const selector of selectors) expect(labels).toContainEqual(selector);
  });

  it('leaves the number of workers to the autoscaler, which counts rows to run', async () => {
    const worker = (manifests: Manifest[]) =>
      manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-worker'))!;
    expect(worker(plain).spec.replicas).toBe(2);
    expect(worker(full).spec.replicas).toBeUndefined();
    const { spec } = full.find(({ kind }) => kind === 'ScaledObject')!;
    expect(spec.scaleTargetRef.name).toBe(worker(full).metadata.name);
    const [{ metadata }] = spec.triggers;
    const context = database.context();
    const count = async () => Number(Object.values((await database.query(metadata.query))[0]!)[0]);
    const before = await count();
    const jobId = await jobWithItems(context, { items: 5 });
    expect(await count()).toBe(before + 5);
    await database.query(`update spans set ready_at = now() + interval '1 hour' where job_id = $1`, [jobId]);
    expect(await count()).toBe(before);
  });
});

describe('the units of systemd', () => {
  it.each(readdirSync('deploy/systemd'))('%s starts a command that exists', (name) => {
    const line = /^ExecStart=\S+\/rowmill (.*)$/m.exec(read(`deploy/systemd/${name}`))![1]!;
    expect(faultOf(line.split(' '))).toBeNull();
  });
});

describe('the workflows', () => {
  it.each(readdirSync('.github/workflows'))('%s runs scripts that exist', (name) => {
    const scripts = Object.keys((JSON.parse(read('package.json')) as { scripts: object }).scripts);
    const text = read(`.github/workflows/${name}`);
    const run = Array.from(text.matchAll(/npm run (?:-s )?([\w:]+)/g), ([, script]) => script!);
    expect(run.filter((script) => !scripts.includes(script))).toEqual([]);
    expect(Object.keys((parse(text) as { jobs: object }).jobs)).not.toEqual([]);
  });
});

describe('a faulty command', () => {
  it('is noticed', () => {
    expect(faultOf(['worker', '--metric-port', '1'])).toBe('no option --metric-port of worker');
    expect(faultOf(['workr'])).toBe('no command workr');
  });
});
