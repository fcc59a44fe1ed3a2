import { expect, test } from 'vitest';
import { viewOn } from './live-view.ts';

test('on a terminal the view is redrawn over itself, cut to the screen', () => {
  let written = '';
  const show = viewOn({ write: (text) => (written += text), columns: 6, rows: 4 }, true);
  show(['one', 'two is long', 'three', 'four', 'five']);
  show(['one']);
  expect(written).toBe('one\x1b[K\ntwo i…\x1b[K\nthree\x1b[K\n\x1b[J\x1b[3Aone\x1b[K\n\x1b[J');
});

test('elsewhere a line is printed when it appears or changes', () => {
  let written = '';
  const show = viewOn({ write: (text) => (written += text) }, false);
  show(['Job State', 'a QUEUED', 'b DONE']);
  show(['Job State', 'a RUNNING', 'b DONE']);
  show(['Job State', 'a RUNNING', 'b DONE']);
  expect(written).toBe('Job State\na QUEUED\nb DONE\na RUNNING\n');
});
