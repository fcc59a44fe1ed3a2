// A configured source that the caller may take files of.
import { RowmillError } from '../core/rowmill-error.ts';
import type { SourceConfig } from '../ingest/sources/source-config.ts';
import { type Actor, seenBy } from './actor.ts';
import type { ApiContext } from './api-context.ts';

/** One whose files belong to somebody else is answered like one that is missing. */
export function findSource({ sources }: ApiContext, actor: Actor, name: string): SourceConfig {
  const owners = seenBy(actor);
  const found = sources.find((source) => source.name === name);
  if (found && (owners === null || found.owner === undefined || owners.includes(found.owner))) return found;
  throw new RowmillError('SOURCE_NOT_FOUND', `there is no source ${name}`);
}
