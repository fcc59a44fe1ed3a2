// While there is no account, says in the log how to make the first one. The token stands there and nowhere else.
import { offerSetup } from '../engine/accounts/set-up.ts';
import type { ApiContext } from './api-context.ts';

export async function offerFirstAccount({ engine, log }: ApiContext): Promise<void> {
  const { authentication, apiPublicUrl, setupTokenMs } = engine.settings;
  if (authentication !== 'password') return;
  const setupToken = await offerSetup(engine);
  if (setupToken !== null)
    log.warn(
      { url: apiPublicUrl, setupToken, validMs: setupTokenMs },
      'there is no account yet: open the address and make the first one with this token',
    );
}
