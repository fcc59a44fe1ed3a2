import { expect, test } from 'vitest';
import type { SourceConfig } from '../../ingest/sources/source-config.ts';
import { type Actor, chooseOwner, LOCAL_ACTOR } from './actor.ts';
import type { ApiContext } from '../api-context.ts';
import { findSource } from '../files/find-source.ts';

const member: Actor = {
  ...LOCAL_ACTOR,
  role: 'member',
  userId: 'ann',
  teamId: '@team',
  own: ['ann', '@team'],
};

test('a job belongs to the team of its creator, or to another owner of theirs', () => {
  expect(chooseOwner(member, undefined)).toBe('@team');
  expect(chooseOwner({ ...member, teamId: null, own: ['ann'] }, undefined)).toBe('ann');
  expect(chooseOwner(member, 'ann')).toBe('ann');
});

test('only an administrator creates jobs for others', () => {
  expect(() => chooseOwner(member, 'bob')).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
  expect(chooseOwner({ ...member, role: 'admin' }, 'bob')).toBe('bob');
});

test('a key of an administrator without the scope admin creates jobs for its own account only', () => {
  const key: Actor = { ...member, role: 'admin', via: 'key', scopes: ['read', 'write'] };
  expect(() => chooseOwner(key, 'bob')).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
  expect(chooseOwner(key, 'ann')).toBe('ann');
});

test('a source of another owner, or without owner, is answered like a missing one', () => {
  const source = (name: string, owner?: string) => ({ name, ...(owner && { owner }) }) as SourceConfig;
  const context = {
    sources: [source('open'), source('ours', '@team'), source('theirs', 'bob')],
  } as unknown as ApiContext;
  expect(findSource(context, member, 'ours').name).toBe('ours');
  for (const name of ['theirs', 'open'])
    expect(findSource(context, { ...member, role: 'admin' }, name).name).toBe(name);
  const refusal = (name: string) => {
    try {
      return findSource(context, member, name);
    } catch (error) {
      return (error as Error).message.replace(name, '');
    }
  };
  expect(refusal('theirs')).toBe(refusal('nothing'));
  expect(refusal('open')).toBe(refusal('nothing'));
});
