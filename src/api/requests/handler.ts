// What a handler is given, already checked, and what it may answer with.

import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerOf, BodyOf, ParamsOf, QueryOf, Route } from '../../contract/route.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import type { Actor } from './actor.ts';
import type { ApiContext } from '../api-context.ts';
import type { ChosenBytes, StoredBytes } from '../answers/choose-bytes.ts';

export interface ApiRequest<R extends Route> {
  /** Nobody only on routes that are open. */
  actor: R['access'] extends 'open' ? Actor | null : Actor;
  params: ParamsOf<R>;
  query: QueryOf<R>;
  body: BodyOf<R>;
  /** Of a path with `:jobId`: looked up with the owners that the caller may see. */
  job: R['path'] extends `${string}:jobId${string}` ? Job : undefined;
  /** The engine, acting for the caller: what it changes stands in the audit under their name. */
  engine: EngineContext;
  requestId: string;
  address: string;
  /** Aborted when the client is gone. */
  signal: AbortSignal;
  raw: FastifyRequest;
  reply: FastifyReply;
}

/** A download. */
export interface BytesAnswer {
  stream: Readable;
  /** Name of the file for the person who saves it. */
  name: string;
  contentType: string;
  /** Length and range of a stored file. Without it the length is unknown before the end. */
  stored?: StoredBytes & { chosen: ChosenBytes };
  /** A picture of a page: shown, not saved, and kept by the browser of the caller. */
  isShown?: boolean;
}

type Answered<R extends Route> = R['answer'] extends { type: 'bytes' }
  ? BytesAnswer
  : R['answer'] extends { type: 'events' }
    ? undefined
    : R['answer'] extends { type: 'text' }
      ? string
      : R extends { pagedBy: readonly string[] }
        ? Omit<AnswerOf<R>, 'next' | 'previous'>
        : AnswerOf<R> extends { previous: unknown }
          ? Omit<AnswerOf<R>, 'previous'>
          : AnswerOf<R>;

export type Handler<R extends Route> = (request: ApiRequest<R>, context: ApiContext) => Promise<Answered<R>>;

export type Handlers<Routes extends Record<string, Route>> = {
  [Name in keyof Routes]: Handler<Routes[Name]>;
};
