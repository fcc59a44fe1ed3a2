import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { capturedLog } from '../../testing/captured-log.ts';
import { RequestNotes } from './request-notes.ts';

function notes() {
  const said: string[] = [];
  const registry = new Registry();
  const log = capturedLog(({ level, message, fields }) => {
    const { route, cursor, next, rows } = fields as Record<string, unknown>;
    said.push([level, message, route, cursor, next, rows].join(' '));
  }, null);
  const noting = new RequestNotes({
    log,
    engine: { settings: { apiSlowMs: 1000 } },
    metrics: { registry },
  } as never);
  return { noting, said, registry };
}

test('a page of a list says where it began and ended, and a slow request that it was slow', async () => {
  const { noting, said, registry } = notes();
  const requestId = 'r';
  noting.note('getStats', 3, { requestId, query: {}, answer: {} });
  noting.note('listItems', 3, { requestId, query: { cursor: 'a' }, answer: { items: [1, 2], next: 'b' } });
  noting.note('listItems', 1000, { requestId, query: {}, answer: { items: [], next: null } });
  noting.note('getStats', 5000, { requestId, query: {}, answer: {} });
  // As long as it was asked to work.
  noting.note('sliceJob', 5000, { requestId, query: {}, answer: {} });
  expect(said).toEqual([
    'debug list page served listItems a b 2',
    'warn slow request listItems   0',
    'warn slow request getStats   ',
  ]);
  expect(await registry.metrics()).toContain('rowmill_request_ms_count{route="listItems"} 2');
});
