// Totals of the measures of a counter.
import { formatCount } from '../../lib/format.ts';

export function MeasureTotals({
  measures,
  measured,
}: {
  measures: readonly string[];
  measured: Readonly<Record<string, number>>;
}) {
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-3 rounded-lg border border-line bg-surface px-4 py-3">
      {measures.map((measure) => (
        <div key={measure} className="flex flex-col-reverse">
          <dt className="text-[13px] break-all text-muted">{measure}</dt>
          <dd className="text-xl font-semibold tabular-nums">{formatCount(measured[measure] ?? 0)}</dd>
        </div>
      ))}
    </dl>
  );
}
