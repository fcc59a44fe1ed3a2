// Loads the AI SDK, which only projects that use rowmill/ai install. It is loaded synchronously, when `createAi` is
// called, so that a missing package is reported when the pipeline is loaded, and rowmill/ai can be required.
import { createRequire } from 'node:module';
import { RowmillError } from '../core/errors/rowmill-error.ts';

export type AiSdk = Pick<
  typeof import('ai'),
  'generateText' | 'generateObject' | 'embedMany' | 'NoObjectGeneratedError'
>;

/** `from` is the module that loads it. */
export function loadSdk(from: string = import.meta.url): AiSdk {
  try {
    return createRequire(from)('ai') as AiSdk;
  } catch (error) {
    if (!String((error as { code?: unknown }).code).endsWith('MODULE_NOT_FOUND')) throw error;
    throw new RowmillError(
      'PIPELINE_INVALID',
      'expected the package ai, the AI SDK, to be installed for rowmill/ai, got none',
      { hint: 'npm install ai@6', cause: error },
    );
  }
}
