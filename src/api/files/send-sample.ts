// Sends a sample file of the project. Only files that the configuration lists can be requested.
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import type { operationRoutes } from '../../contract/operations.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Handler } from '../requests/handler.ts';

export const sendSample: Handler<typeof operationRoutes.getSample> = async ({ params }, { samples }) => {
  const path = samples.find((each) => basename(each) === params.name);
  const file = path === undefined ? null : await open(path).catch(() => null);
  if (file === null)
    throw new RowmillError('FILE_NOT_FOUND', `there is no sample ${params.name}`, {
      hint: 'GET /api/v1/configuration lists the samples.',
    });
  return { stream: file.createReadStream(), name: params.name, contentType: 'application/octet-stream' };
};
