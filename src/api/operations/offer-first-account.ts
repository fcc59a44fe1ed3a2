// While there is no account, says in the log how to make the first one. The token stands there and nowhere else.
import { offerSetup } from '../../engine/accounts/set-up.ts';
import { TEXT_SETTINGS } from '../../platform/setting-table.ts';
import type { ApiContext } from '../api-context.ts';

/** `listeningOn`: where it is reached as long as nobody has said under which address. */
export async function offerFirstAccount({ engine, log }: ApiContext, listeningOn: string): Promise<void> {
  const { authentication, apiPublicUrl, setupTokenMs } = engine.settings;
  if (authentication !== 'password') return;
  const setupToken = await offerSetup(engine);
  const url = apiPublicUrl === TEXT_SETTINGS.apiPublicUrl.default ? listeningOn : apiPublicUrl;
  if (setupToken !== null)
    log.warn(
      { url, setupToken, validMs: setupTokenMs },
      'no account yet; open the URL and create the first one with this token',
    );
}
