// An error group as the API and the command line show it.
import type { z } from 'zod';
import type { errorGroup } from '../../contract/error-group.ts';
import { patternOf, triageOf } from '../../core/errors/error-triage.ts';
import type { ErrorGroup } from '../../store/views/results/read-error-groups.ts';

export function showErrorGroup(group: ErrorGroup): z.infer<typeof errorGroup> {
  const { fromMs, stepMs, counts } = group.trend;
  return {
    ...group,
    pattern: patternOf(group),
    ...triageOf(group.errorClass),
    firstSeen: group.firstSeen.toISOString(),
    lastSeen: group.lastSeen.toISOString(),
    trend: { from: new Date(fromMs).toISOString(), stepMs, counts },
  };
}
