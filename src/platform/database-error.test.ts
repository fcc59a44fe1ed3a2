import { expect, it } from 'vitest';
import { databaseErrorKind, isStatementNameError } from './database-error.ts';

const withCode = (code: unknown) => Object.assign(new Error('x'), { code });

it.each([
  ['40001', 'serialization_failure'],
  ['40P01', 'deadlock_detected'],
  ['55P03', 'lock_not_available'],
  ['25006', 'read_only_sql_transaction, as after a failover'],
  ['57P01', 'admin_shutdown'],
  ['57P03', 'cannot_connect_now'],
  ['57014', 'query_canceled'],
  ['53300', 'too_many_connections'],
  ['53100', 'disk_full'],
  ['08006', 'connection_failure'],
  ['26000', 'invalid_sql_statement_name'],
  ['42P05', 'duplicate_prepared_statement'],
  ['XX000', 'internal_error'],
  ['ECONNRESET', 'a reset connection'],
  ['ECONNREFUSED', 'no server'],
  ['EAI_AGAIN', 'no name server'],
])('classifies %s (%s) as passing', (code) => {
  expect(databaseErrorKind(withCode(code))).toBe('passing');
});

it.each([
  ['22P02', 'invalid_text_representation'],
  ['22P05', 'untranslatable_character'],
  ['22021', 'character_not_in_repertoire'],
  ['22003', 'numeric_value_out_of_range'],
  ['23505', 'unique_violation'],
  ['23514', 'check_violation'],
  ['54000', 'program_limit_exceeded'],
])('classifies %s (%s) as a data error', (code) => {
  expect(databaseErrorKind(withCode(code))).toBe('data');
});

it.each([
  ['42P01', 'undefined_table'],
  ['42601', 'syntax_error'],
  ['42501', 'insufficient_privilege'],
  ['28P01', 'invalid_password'],
  ['3D000', 'invalid_catalog_name'],
])('classifies %s (%s) as other', (code) => {
  expect(databaseErrorKind(withCode(code))).toBe('other');
});

it.each([
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Client has encountered a connection error and is not queryable',
  'timeout exceeded when trying to connect',
  'no answer within the deadline of 300 ms',
])('classifies the driver message "%s" as passing', (message) => {
  expect(databaseErrorKind(new Error(message))).toBe('passing');
});

it.each([null, undefined, 'ECONNRESET', 5, {}, withCode(40001), new TypeError('x is not a function')])(
  'classifies %s as other',
  (thrown) => {
    expect(databaseErrorKind(thrown)).toBe('other');
    expect(isStatementNameError(thrown)).toBe(false);
  },
);

it('recognises the two errors of named statements', () => {
  expect(['26000', '42P05', '42P01'].map((code) => isStatementNameError(withCode(code)))).toEqual([
    true,
    true,
    false,
  ]);
});
