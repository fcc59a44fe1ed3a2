// Creates the API client of the command line.
import { type Client, createClient } from '../../client/create-client.ts';
import { VERSION } from '../../platform/version.ts';

export function clientOf(target: { url: string; apiKey: string | undefined }): Client {
  return createClient({
    baseUrl: target.url,
    apiKey: target.apiKey,
    headers: { 'user-agent': `rowmill-cli/${VERSION}` },
  });
}
