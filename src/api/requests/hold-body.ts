// Counts a request body as it is read into memory, and bounds its size and time by the limits of its route.
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

/** The names of the settings appear in refusals. */
export interface BodyBounds {
  bodyLimitName: 'apiItemsMaxBytes' | 'apiAccountMaxBytes' | 'apiBodyMaxBytes';
  bodyMsName: 'apiAccountBodyMs' | 'apiBodyMs';
}

/** Account routes accept bodies from unauthenticated callers, so these must be small and fast. */
export function bodyBounds(name: RouteName): BodyBounds {
  if (name in accountRoutes) return { bodyLimitName: 'apiAccountMaxBytes', bodyMsName: 'apiAccountBodyMs' };
  const bodyLimitName = WITH_ROWS.includes(name) ? 'apiItemsMaxBytes' : 'apiBodyMaxBytes';
  return { bodyLimitName, bodyMsName: 'apiBodyMs' };
}

/** Multipart bodies are not counted here: they are streamed to the store, and count as uploads there. */
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
  // Not `pipeline`, which would close the connection before the refusal is sent.
  payload.once('error', (error) => counted.destroy(error));
  return payload.pipe(counted);
}

/** A body over `apiBodyMaxBytes` counts as an upload of its caller. */
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
          `expected at most ${uploadsAtOnce} uploads of one caller at once (uploadsAtOnce); a body over ${apiBodyMaxBytes} bytes (apiBodyMaxBytes) counts as an upload`,
          1000,
        );
    },
    release: () => release?.(),
  };
}
