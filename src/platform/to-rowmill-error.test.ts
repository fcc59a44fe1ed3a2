import { describe, expect, it } from 'vitest';
import { ERROR_REGISTRY, type ErrorCode } from '../core/errors/error-registry.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { toRowmillError } from './to-rowmill-error.ts';

describe('any error as a RowmillError', () => {
  it('an unknown code keeps its message and gets the status, hint and docs of an internal error', () => {
    for (const code of ['57P03', 'NO_SUCH_CODE', 'toString', '', undefined]) {
      const error = new RowmillError(code as ErrorCode, 'what happened');
      expect(error).toMatchObject({ message: 'what happened', status: 500 });
      expect(error.docs).toBe('docs/errors.md#internal_error');
      expect(error.hint).toBe(ERROR_REGISTRY.INTERNAL_ERROR.hint);
    }
  });

  it.each([
    [new RowmillError('JOB_NOT_FOUND', 'gone'), 'JOB_NOT_FOUND', 'gone'],
    [{ code: 'FILE_INVALID', message: 'of another copy' }, 'FILE_INVALID', 'of another copy'],
    [new Error('no code'), 'INTERNAL_ERROR', 'no code'],
    [{ code: 'NO_SUCH_CODE', message: 'of a newer one' }, 'INTERNAL_ERROR', 'of a newer one'],
    [{ code: 'constructor', message: 'a name of every object' }, 'INTERNAL_ERROR', 'a name of every object'],
    [{ code: '57P03', message: 'starting up' }, 'DATABASE_UNREACHABLE', 'starting up'],
    [{ code: '42501', message: 'permission denied for table jobs' }, 'DATABASE_FORBIDDEN', 'table jobs'],
    [
      { code: '28P01', message: 'password' },
      'DATABASE_UNREACHABLE',
      'PostgreSQL refused the login: password',
    ],
    [{ code: 'ECONNREFUSED', message: 'connect' }, 'DATABASE_UNREACHABLE', 'connect'],
    ['a text', 'INTERNAL_ERROR', 'a text'],
    [undefined, 'INTERNAL_ERROR', 'undefined'],
    [null, 'INTERNAL_ERROR', 'null'],
    [{}, 'INTERNAL_ERROR', '[object Object]'],
  ])('%s is %s', (thrown, code, text) => {
    expect(toRowmillError(thrown)).toMatchObject({ code, message: expect.stringContaining(text) });
  });

  it('an error of a host with several addresses names each of them', () => {
    const each = ['::1', '127.0.0.1'].map((address) => new Error(`connect ECONNREFUSED ${address}:5432`));
    const error = toRowmillError(Object.assign(new AggregateError(each), { code: 'ECONNREFUSED' }));
    expect(error.code).toBe('DATABASE_UNREACHABLE');
    expect(error.message).toContain('ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432');
  });
});
