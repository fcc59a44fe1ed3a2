// Checks metric names in queries and documents against the metrics of real processes.
import type { Registry } from 'prom-client';

interface RealMetric {
  name: string;
  type: string;
  labelNames: string[];
}

/** Prometheus adds these to everything it scrapes. */
const OF_THE_SCRAPE = ['instance', 'job'];
const PARTS: Record<string, string[]> = {
  histogram: ['_sum', '_count', '_bucket'],
  summary: ['_sum', '_count'],
};

/** Names and labels in this text that no metric of these registries has. */
export function unknownMetrics(text: string, registries: readonly Registry[]): string[] {
  const labelsOf = new Map<string, string[]>();
  for (const metric of registries.flatMap((registry) => registry.getMetricsAsArray())) {
    const { name, type, labelNames } = metric as unknown as RealMetric;
    const own = [...labelNames, ...(type === 'summary' ? ['quantile'] : type === 'histogram' ? ['le'] : [])];
    for (const part of ['', ...(PARTS[type] ?? [])]) labelsOf.set(name + part, own);
  }
  const unknown: string[] = [];
  for (const [, name, selector = ''] of text.matchAll(/\b(rowmill_\w+)(?:\{([^}]*)\})?/g)) {
    const known = labelsOf.get(name!);
    if (!known) unknown.push(name!);
    for (const [, label] of selector.matchAll(/(\w+)(?:=~?"[^"]*")?/g))
      if (known && !known.includes(label!)) unknown.push(`${name}{${label}}`);
  }
  const all = new Set([...labelsOf.values()].flat().concat(OF_THE_SCRAPE));
  for (const [, labels] of text.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of labels!.split(', ')) if (!all.has(label)) unknown.push(`by ${label}`);
  return unknown;
}
