// Sends spans to an OpenTelemetry collector as OTLP/HTTP with JSON. A bounded buffer is sent every two seconds; spans that
// do not fit, or that the collector does not take, are dropped and counted: tracing never slows the work.
import { waitMs } from '../clock.ts';
import { traceHeadersFromEnvironment } from '../environment.ts';
import type { Logger } from '../logger.ts';
import { VERSION } from '../version.ts';

const EVERY_MS = 2000;
const MAX_SPANS = 4096;
const SEND_MS = 10_000;

type AttributeValue = string | number | boolean | null | undefined;

export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  /** A request to another service; others are internal. */
  isClient?: boolean;
  startMs: number;
  endMs: number;
  failed?: boolean;
  attributes: Record<string, AttributeValue>;
}

export interface TraceExporterOptions {
  /** Address of the collector, to which /v1/traces is added. */
  endpoint: string;
  serviceName: string;
  log: Logger;
}

export class TraceExporter {
  readonly #options: TraceExporterOptions;
  readonly #url: string;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  #spans: Span[] = [];
  #dropped = 0;

  constructor(options: TraceExporterOptions) {
    this.#options = options;
    this.#url = new URL(
      'v1/traces',
      options.endpoint.endsWith('/') ? options.endpoint : `${options.endpoint}/`,
    ).href;
    this.#running = this.#run();
  }

  add(span: Span): void {
    if (this.#spans.length < MAX_SPANS) this.#spans.push(span);
    else this.#dropped += 1;
  }

  /** Sends what is left, once. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await waitMs(EVERY_MS, signal);
      await this.#send();
    }
  }

  async #send(): Promise<void> {
    const spans = this.#spans;
    if (spans.length === 0) return;
    this.#spans = [];
    try {
      const response = await globalThis.fetch(this.#url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...traceHeadersFromEnvironment() },
        body: JSON.stringify(toOtlp(spans, this.#options.serviceName)),
        signal: AbortSignal.timeout(SEND_MS),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`the collector answered ${response.status}`);
    } catch (error) {
      this.#dropped += spans.length;
      const { message, cause } = error as Error;
      const reason = cause instanceof Error ? cause.message : message;
      this.#options.log.warn({ spans: this.#dropped, error: reason }, 'traces not sent');
      this.#dropped = 0;
    }
  }
}

function toOtlp(spans: readonly Span[], serviceName: string): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: toAttributes({ 'service.name': serviceName, 'service.version': VERSION }) },
        scopeSpans: [{ scope: { name: 'rowmill', version: VERSION }, spans: spans.map(toOtlpSpan) }],
      },
    ],
  };
}

function toOtlpSpan({
  traceId,
  spanId,
  parentSpanId,
  name,
  isClient,
  startMs,
  endMs,
  failed,
  attributes,
}: Span): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== null && { parentSpanId }),
    name,
    // INTERNAL and CLIENT; OK is left to people, so a span that did not fail is UNSET.
    kind: isClient ? 3 : 1,
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
    attributes: toAttributes(attributes),
    status: failed ? { code: 2 } : {},
  };
}

function nanoseconds(ms: number): string {
  return (BigInt(Math.round(ms * 1000)) * 1000n).toString();
}

function toAttributes(values: Record<string, AttributeValue>): object[] {
  return Object.entries(values)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => ({ key, value: toValue(value!) }));
}

function toValue(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
