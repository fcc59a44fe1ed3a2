import { describe, expect, it } from 'vitest';
import { describeThrown } from './thrown-error.ts';

describe('describeThrown', () => {
  it('has the name, the message, the frames and the causes of an error', () => {
    const cause = Object.assign(new TypeError('no tag'), { code: 'E_TAG' });
    const thrown = describeThrown(new RangeError('cannot read', { cause }));
    expect(thrown).toMatchObject({
      name: 'RangeError',
      message: 'cannot read',
      causes: [{ name: 'TypeError', message: 'no tag', code: 'E_TAG' }],
    });
    expect(thrown.stack[0]).toMatch(/^at .*thrown-error\.test\.ts/);
  });

  it.each([
    ['text', 'text'],
    [undefined, 'the handler threw undefined'],
    [{ message: 'plain' }, 'plain'],
  ])('accepts %j', (value, message) => {
    expect(describeThrown(value)).toEqual({ name: null, message, stack: [], causes: [] });
  });

  it('accepts a value that cannot be read, and causes without end', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
      },
    );
    expect(describeThrown(hostile).stack).toEqual([]);
    const endless = new Error('again');
    endless.cause = endless;
    expect(describeThrown(endless).causes).toHaveLength(5);
  });
});
