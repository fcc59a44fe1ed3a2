// Logs how to create the first account as long as there is none. The token appears only in the log.
import { offerSetup } from '../../engine/accounts/set-up.ts';
import { TEXT_SETTINGS } from '../../platform/setting-table.ts';
import type { ApiContext } from '../api-context.ts';

/** `listeningOn`: the URL to show as long as apiPublicUrl is not set. */
export async function offerFirstAccount({ engine, log }: ApiContext, listeningOn: string): Promise<void> {
  const { authentication, apiPublicUrl, setupTokenMs } = engine.settings;
  if (authentication !== 'password') return;
  const setupToken = await offerSetup(engine);
  const url = apiPublicUrl === TEXT_SETTINGS.apiPublicUrl.default ? listeningOn : apiPublicUrl;
  if (setupToken !== null)
    log.warn(
      { url, setupToken, validMs: setupTokenMs },
      'there is no account yet: open the URL and create the first one with this token',
    );
}
