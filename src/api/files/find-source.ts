// Configured sources that the caller may take files of.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { SourceConfig } from '../../ingest/sources/source-config.ts';
import { type Actor, seenBy } from '../requests/actor.ts';
import type { ApiContext } from '../api-context.ts';

/** One whose files belong to somebody else is answered like one that is missing. */
export function findSource({ sources }: ApiContext, actor: Actor, name: string): SourceConfig {
  const found = sourcesFor(sources, actor).find((source) => source.name === name);
  if (found) return found;
  throw new RowmillError('SOURCE_NOT_FOUND', `there is no source ${name}`);
}

/** Sources whose files would be the caller's. A source without an owner is for administrators. */
export function sourcesFor(sources: readonly SourceConfig[], actor: Actor): SourceConfig[] {
  const owners = seenBy(actor);
  return sources.filter(({ owner }) => owners === null || (owner !== undefined && owners.includes(owner)));
}
