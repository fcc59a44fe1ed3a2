// Traces of a process, if the setting otelExporterOtlpEndpoint names a collector. A job is one trace, whose id is the id of
// the job, so that spans of all its workers and servers meet without being passed on:
//
//   job ─┬─ claim, flush, finalize      from events
//        └─ row (sampled) ── call ── request
//
// No span contains inputs, results or error texts.
import { createHash } from 'node:crypto';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { FetchRecord } from '../../core/items/fetch-records.ts';
import { monotonicMs, wallClockMs } from '../clock.ts';
import type { Events } from '../events.ts';
import type { Logger } from '../logger.ts';
import { newId } from '../random.ts';
import type { Settings } from '../settings.ts';
import { TraceExporter } from './trace-exporter.ts';

/** One attempt of a row, as its spans identify it. */
export interface TracedRow {
  readonly jobId: string;
  readonly seq: number;
  readonly generation: number;
  readonly attempt: number;
  readonly phase: string;
}

export interface EndedRow extends TracedRow {
  pipeline: string;
  /** Monotonic times. */
  claimedMs: number;
  startedMs: number;
  /** DONE, ERROR …, or `retry`. */
  status: string;
  errorClass: string | null;
  called: boolean;
  requests: readonly FetchRecord[];
}

export interface RowTraces {
  isSampled(seq: number): boolean;
  /** Header of requests that the call of this row sends. */
  traceparentOf(row: TracedRow): string;
  rowEnded(row: EndedRow): void;
}

export interface StartedTraces {
  rows: RowTraces;
  stop(): Promise<void>;
}

type TraceSettings = Pick<Settings, 'otelExporterOtlpEndpoint' | 'otelTracesSamplerArg'>;

/** Workers of a process may share their events: each event is one span. */
const traced = new WeakSet<Events>();

/** Null if no collector is set: then nothing is created and nothing subscribed. */
export function startTraces(
  settings: TraceSettings,
  events: Events,
  serviceName: string,
  log: Logger,
): StartedTraces | null {
  const { otelExporterOtlpEndpoint: endpoint, otelTracesSamplerArg: share } = settings;
  if (endpoint === 'none') return null;
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))
    throw new RowmillError(
      'SETTINGS_INVALID',
      'expected otelExporterOtlpEndpoint to be the address of a collector such as http://localhost:4318',
    );
  const exporter = new TraceExporter({ endpoint, serviceName, log });
  const off = traced.has(events) ? [] : traceEvents(events, exporter);
  if (off.length > 0) traced.add(events);
  return {
    rows: rowTraces(exporter, share),
    async stop() {
      for (const unsubscribe of off) unsubscribe();
      if (off.length > 0) traced.delete(events);
      await exporter.stop();
    },
  };
}

function traceEvents(events: Events, exporter: TraceExporter): (() => void)[] {
  const add = (
    name: string,
    jobId: string,
    ms: number,
    attributes: Record<string, string | number>,
  ): void => {
    const endMs = wallClockMs();
    exporter.add({
      traceId: traceIdOf(jobId),
      spanId: spanIdOf(newId()),
      parentSpanId: rootIdOf(jobId),
      name,
      startMs: endMs - ms,
      endMs,
      attributes: { 'rowmill.job_id': jobId, ...attributes },
    });
  };
  return [
    events.on('claim.made', ({ jobId, phase, asked, items, ms }) =>
      add('claim', jobId, ms, { 'rowmill.phase': phase, 'rowmill.asked': asked, 'rowmill.items': items }),
    ),
    events.on('flush.committed', ({ jobId, phase, items, retried, trigger, ms }) =>
      add('flush', jobId, ms, {
        'rowmill.phase': phase,
        'rowmill.items': items,
        'rowmill.retried': retried,
        'rowmill.trigger': trigger,
      }),
    ),
    events.on('job.finished', ({ jobId, generation, outcome, state, lagMs, runMs }) => {
      add('finalize', jobId, lagMs, { 'rowmill.generation': generation });
      const endMs = wallClockMs();
      exporter.add({
        traceId: traceIdOf(jobId),
        // Reruns have spans of their own below the first run.
        ...(generation === 1
          ? { spanId: rootIdOf(jobId), parentSpanId: null, name: 'job' }
          : { spanId: spanIdOf(newId()), parentSpanId: rootIdOf(jobId), name: 'rerun' }),
        startMs: endMs - runMs,
        endMs,
        failed: state === 'FAILED',
        attributes: {
          'rowmill.job_id': jobId,
          'rowmill.generation': generation,
          'rowmill.state': state,
          'rowmill.outcome': outcome,
        },
      });
    }),
  ];
}

function rowTraces(exporter: TraceExporter, share: number): RowTraces {
  const every = share <= 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.round(1 / share));
  // The same rows in every process and phase, so that a sampled row is complete.
  const isSampled = (seq: number): boolean => seq % every === 0;
  return {
    isSampled,
    traceparentOf: (row) => `00-${traceIdOf(row.jobId)}-${callIdOf(row)}-${isSampled(row.seq) ? '01' : '00'}`,
    rowEnded(row) {
      const { jobId, seq, pipeline, phase, attempt, claimedMs, startedMs, status, errorClass } = row;
      const endMs = wallClockMs();
      const atWall = (ms: number): number => endMs - (monotonicMs() - ms);
      const rowId = spanIdOf(`row:${keyOf(row)}`);
      const common = { traceId: traceIdOf(jobId), endMs, failed: errorClass !== null };
      exporter.add({
        ...common,
        spanId: rowId,
        parentSpanId: rootIdOf(jobId),
        name: 'row',
        startMs: atWall(claimedMs),
        attributes: { 'rowmill.job_id': jobId, 'rowmill.row': seq + 1, 'rowmill.pipeline': pipeline },
      });
      if (!row.called) return;
      const callId = callIdOf(row);
      exporter.add({
        ...common,
        spanId: callId,
        parentSpanId: rowId,
        name: `call ${phase}`,
        startMs: atWall(startedMs),
        attributes: {
          'rowmill.phase': phase,
          'rowmill.attempt': attempt,
          'rowmill.status': status,
          'rowmill.error_class': errorClass,
        },
      });
      for (const { atMs, method, url, status: answer, durationMs } of row.requests) {
        const sentMs = atWall(startedMs) + atMs;
        exporter.add({
          ...common,
          spanId: spanIdOf(newId()),
          parentSpanId: callId,
          name: method,
          isClient: true,
          startMs: sentMs,
          endMs: sentMs + durationMs,
          failed: answer === null || answer >= 400,
          attributes: {
            'http.request.method': method,
            'http.response.status_code': answer,
            'server.address': url.split('/')[0],
            'url.path': url.slice(url.split('/')[0]!.length),
          },
        });
      }
    },
  };
}

function traceIdOf(jobId: string): string {
  return jobId.replaceAll('-', '');
}

function rootIdOf(jobId: string): string {
  return spanIdOf(`job:${jobId}`);
}

function callIdOf(row: TracedRow): string {
  return spanIdOf(`call:${keyOf(row)}`);
}

function keyOf({ jobId, seq, generation, phase, attempt }: TracedRow): string {
  return `${jobId}:${seq}:${generation}:${phase}:${attempt}`;
}

function spanIdOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
