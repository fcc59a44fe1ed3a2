// Whose a new job is.

import { maySeeAll } from '../../contract/permission.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { type Actor, ownerOf } from '../requests/actor.ts';

export function chooseOwner(actor: Actor, wanted: string | undefined): string {
  if (wanted === undefined) return ownerOf(actor);
  if (maySeeAll(actor) || actor.own.includes(wanted)) return wanted;
  throw new RowmillError('FORBIDDEN', `expected ownerId to be ${actor.own.join(' or ')}, got another one`);
}
