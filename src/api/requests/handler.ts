// The checked request that a handler gets, and the answers it may return.

import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerOf, BodyOf, ParamsOf, QueryOf, Route } from '../../contract/route.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import type { Actor } from './actor.ts';
import type { ApiContext } from '../api-context.ts';
import type { ChosenBytes, StoredBytes } from '../answers/choose-bytes.ts';

export interface ApiRequest<R extends Route> {
  /** Null only on open routes. */
  actor: R['access'] extends 'open' ? Actor | null : Actor;
  params: ParamsOf<R>;
  query: QueryOf<R>;
  body: BodyOf<R>;
  /** The job of a path with `:jobId`, looked up among the owners that the caller may see. */
  job: R['path'] extends `${string}:jobId${string}` ? Job : undefined;
  /** The engine, acting for the caller: its changes are audited under the caller's name. */
  engine: EngineContext;
  requestId: string;
  address: string;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  raw: FastifyRequest;
  reply: FastifyReply;
}

/** A download. */
export interface BytesAnswer {
  stream: Readable;
  /** File name suggested to the person who saves it. */
  name: string;
  contentType: string;
  /** Length and range of a stored file. Without it the length is unknown until the end. */
  stored?: StoredBytes & { chosen: ChosenBytes };
  /** An image of the page: displayed, not saved, and cached by the caller's browser. */
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
