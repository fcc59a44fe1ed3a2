// Sends due webhook messages once, and runs due callbacks of a pipeline whose onDone calls a service with its key.
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { runCallbacks } from '../../src/engine/services/callback-runner.ts';
import { WebhookSender } from '../../src/engine/services/webhook-sender.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { silentLogger } from '../support/silent-logger.ts';

export async function tellWhatIsDue(context: EngineContext, callbackUrl: string): Promise<void> {
  await new WebhookSender(context).runOnce();
  const onDone = async (_summary: unknown, { idempotencyKey }: { idempotencyKey: string }): Promise<void> => {
    await fetch(callbackUrl, { method: 'POST', body: idempotencyKey });
  };
  const pipeline = definePipeline({ name: 'told', phases: [{ name: 'only', run: () => null }], onDone });
  await runCallbacks(context, [pipeline], silentLogger, new AbortController().signal);
}
