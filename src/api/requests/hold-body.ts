// The body of a request on its way into memory: counted as it comes, and bounded in size and time by what its route takes.
import { type Readable, Transform } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { accountRoutes } from '../../contract/accounts.ts';
import type { RouteName } from '../../contract/routes.ts';
import type { Settings } from '../../platform/settings.ts';
import type { Actor } from './actor.ts';
import { RetryLaterError } from './answer-error.ts';
import type { ApiContext } from '../api-context.ts';
import type { HeldBytes } from './held-bytes.ts';

/** Routes whose body holds rows. */
export const WITH_ROWS: readonly string[] = [
  'createJob',
  'appendItems',
  'reprocessJob',
  'previewReprocess',
] satisfies RouteName[];

/** The names of the settings go along for whoever is refused. */
export interface BodyBounds {
  bodyLimitName: 'apiItemsMaxBytes' | 'apiAccountMaxBytes' | 'apiBodyMaxBytes';
  bodyMsName: 'apiAccountBodyMs' | 'apiBodyMs';
}

/** Anybody may send a body to routes of accounts: it is small, and comes at once. */
export function bodyBounds(name: RouteName): BodyBounds {
  if (name in accountRoutes) return { bodyLimitName: 'apiAccountMaxBytes', bodyMsName: 'apiAccountBodyMs' };
  const bodyLimitName = WITH_ROWS.includes(name) ? 'apiItemsMaxBytes' : 'apiBodyMaxBytes';
  return { bodyLimitName, bodyMsName: 'apiBodyMs' };
}

/** Parts of files go to the store as they come, and count as uploads there. */
export function holdBody(
  held: HeldBytes,
  { slots, engine }: Pick<ApiContext, 'slots' | 'engine'>,
  actor: Actor | null,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: Readable,
): Readable {
  const { headers } = request;
  const length = headers['content-length'];
  const hasBody = length !== undefined || headers['transfer-encoding'] !== undefined;
  if (!hasBody || /^multipart\//i.test(headers['content-type'] ?? '')) return payload;
  const hold = held.open(request.ip);
  const slot = uploadSlot(slots.uploads, actor, engine.settings);
  reply.raw.once('close', () => {
    hold.release();
    slot.release();
  });
  slot.takeFor(Number(length ?? 0));
  let received = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        received += chunk.length;
        slot.takeFor(received);
        hold.add(chunk.length);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  // Not a pipeline: that would end the connection before the refusal is sent.
  payload.once('error', (error) => counted.destroy(error));
  return payload.pipe(counted);
}

/** A body that is larger than other routes take is an upload of its caller. */
function uploadSlot(
  slots: ApiContext['slots']['uploads'],
  actor: Actor | null,
  { apiBodyMaxBytes, uploadsAtOnce }: Pick<Settings, 'apiBodyMaxBytes' | 'uploadsAtOnce'>,
): { takeFor(bytes: number): void; release(): void } {
  let release: (() => void) | null = null;
  return {
    takeFor: (bytes) => {
      if (bytes <= apiBodyMaxBytes || release !== null || actor === null) return;
      release = slots.take(actor.userId, uploadsAtOnce);
      if (release === null)
        throw new RetryLaterError(
          'RATE_LIMITED',
          `expected at most ${uploadsAtOnce} uploads of one caller at once (uploadsAtOnce); a body over ${apiBodyMaxBytes} bytes (apiBodyMaxBytes) is one`,
          1000,
        );
    },
    release: () => release?.(),
  };
}
