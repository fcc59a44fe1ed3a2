import { expect, it } from 'vitest';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { definePipeline } from '../../pipeline/define-pipeline.ts';
import { Events } from '../../platform/events.ts';
import { loadSettings } from '../../platform/settings.ts';
import type { RunningItem } from '../run/running-item.ts';
import { WorkerLimits } from './worker-limits.ts';

const FAILED: RecordedOutcome = {
  seq: 0,
  kind: 'retry',
  status: 'ERROR',
  json: null,
  failure: { class: 'overloaded', message: 'down', retryAfterMs: null },
  delayMs: 100,
  handlerMs: 1,
};

it('lets a phase use fewer slots during an error spike, unless it uses a resource', async () => {
  const pipeline = definePipeline({
    name: 'test',
    resources: { api: {} },
    phases: [
      { name: 'plain', run: () => 'x' },
      { name: 'limited', resources: ['api'], run: () => 'x' },
    ],
  });
  const events = new Events();
  const limits = new WorkerLimits({
    context: { settings: loadSettings({ flags: {} }), events } as EngineContext,
    workerId: 'worker',
    pipelines: [pipeline],
    databases: [],
    onRelief: () => {},
  });
  const [plain, limited] = pipeline.phases.map((phase) => limits.admissionTo(pipeline, phase, 10));
  for (const admission of [plain!, limited!])
    for (let calls = 0; calls < 20; calls += 1) admission.settled({} as RunningItem, { ...FAILED });
  const spiked = events.next('phase.spike');
  await limits.service.runOnce();
  limits.stop();
  expect(await spiked).toMatchObject({ pipeline: 'test', phase: 'plain', to: 0.5 });
  expect([plain!.share, limited!.share]).toEqual([0.5, 1]);
});
