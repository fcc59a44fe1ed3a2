import { expect, test } from 'vitest';
import type { SourceConfig } from '../ingest/sources/source-config.ts';
import { type Actor, LOCAL_ACTOR } from './actor.ts';
import type { ApiContext } from './api-context.ts';
import { chooseOwner } from './choose-owner.ts';
import { findSource } from './find-source.ts';

const member: Actor = {
  ...LOCAL_ACTOR,
  role: 'member',
  userId: 'ann',
  teamId: '@team',
  own: ['ann', '@team'],
};

test('a job is of the team of its maker, or of one of those that are theirs', () => {
  expect(chooseOwner(member, undefined)).toBe('@team');
  expect(chooseOwner({ ...member, teamId: null, own: ['ann'] }, undefined)).toBe('ann');
  expect(chooseOwner(member, 'ann')).toBe('ann');
});

test('only an administrator makes jobs for others', () => {
  expect(() => chooseOwner(member, 'bob')).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
  expect(chooseOwner({ ...member, role: 'admin' }, 'bob')).toBe('bob');
});

test('a source of somebody else is answered like one that is missing', () => {
  const source = (name: string, owner?: string) => ({ name, ...(owner && { owner }) }) as SourceConfig;
  const context = {
    sources: [source('open'), source('ours', '@team'), source('theirs', 'bob')],
  } as unknown as ApiContext;
  expect(findSource(context, member, 'open').name).toBe('open');
  expect(findSource(context, member, 'ours').name).toBe('ours');
  expect(findSource(context, { ...member, role: 'admin' }, 'theirs').name).toBe('theirs');
  const refusal = (name: string) => {
    try {
      return findSource(context, member, name);
    } catch (error) {
      return (error as Error).message.replace(name, '');
    }
  };
  expect(refusal('theirs')).toBe(refusal('nothing'));
});
