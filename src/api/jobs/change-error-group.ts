// Actions on all rows of an error group other than a retry: skip them, or edit their inputs and rerun them.
import type { controlRoutes } from '../../contract/control.ts';
import {
  type EditErrorGroupRequest,
  editErrorGroup,
  previewGroupEdit,
} from '../../engine/reprocess/edit-error-group.ts';
import { finalizeIfComplete } from '../../engine/jobs/finalize-if-complete.ts';
import { skipErrorGroup } from '../../engine/reprocess/skip-error-group.ts';
import { checkStorable } from '../requests/check-storable.ts';
import type { Handlers } from '../requests/handler.ts';
import { asJson } from '../requests/wire-values.ts';

type GroupRoutes = Pick<typeof controlRoutes, 'skipErrors' | 'previewErrorEdit' | 'editErrors'>;

export const errorGroupHandlers: Handlers<GroupRoutes> = {
  async skipErrors({ engine, job, body }, { background }) {
    checkStorable(body);
    const { reason, ...rest } = body;
    const { generation, selected } = await skipErrorGroup(engine, job.jobId, { reason, ...given(rest) });
    // Writing the files of a large job takes a while.
    background.start('skip', () => finalizeIfComplete(engine, job.jobId));
    return { generation, selected };
  },

  async previewErrorEdit({ engine, job, body }) {
    const { samples, ...counts } = await previewGroupEdit(engine, job.jobId, requestOf(body));
    const shown = samples.map(({ seq, before, after }) => ({
      seq,
      before: asJson(before),
      after: asJson(after),
    }));
    return { ...counts, samples: shown };
  },

  async editErrors({ engine, job, body }, { notifier }) {
    const { generation, selected, unchanged, more } = await editErrorGroup(
      engine,
      job.jobId,
      requestOf(body),
    );
    await notifier.hint();
    return { generation, selected, unchanged, more };
  },
};

type EditBody = Parameters<(typeof errorGroupHandlers)['editErrors']>[0]['body'];

function requestOf(body: EditBody): EditErrorGroupRequest {
  checkStorable(body);
  const { change, ...rest } = body;
  return { change, ...given(rest) };
}

/** Leaves out undefined fields. */
function given<Given extends object>(fields: Given) {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as { [Key in keyof Given]: Exclude<Given[Key], undefined> };
}
