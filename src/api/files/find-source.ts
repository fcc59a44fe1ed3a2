// Configured sources that the caller may use.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { SourceConfig } from '../../ingest/sources/source-config.ts';
import { type Actor, seenBy } from '../requests/actor.ts';
import type { ApiContext } from '../api-context.ts';

/** A source of another owner is answered like a missing one. */
export function findSource({ sources }: ApiContext, actor: Actor, name: string): SourceConfig {
  const found = sourcesFor(sources, actor).find((source) => source.name === name);
  if (found) return found;
  throw new RowmillError('SOURCE_NOT_FOUND', `there is no source ${name}`);
}

/** Sources whose files would belong to the caller. Sources without an owner are for administrators only. */
export function sourcesFor(sources: readonly SourceConfig[], actor: Actor): SourceConfig[] {
  const owners = seenBy(actor);
  return sources.filter(({ owner }) => owners === null || (owner !== undefined && owners.includes(owner)));
}
