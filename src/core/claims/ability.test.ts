import { describe, expect, it } from 'vitest';
import { type Ability, blockedBecause, canRun, GIVEN_PIPELINES, type Wanted } from './ability.ts';

const ability = (pipeline: string, version: string | null, ...phases: string[]): Ability => ({
  pipeline,
  version,
  phases,
});
const wanted = (pipeline: string, pipelineVersion: string | null, ...phases: string[]): Wanted => ({
  pipeline,
  pipelineVersion,
  phases,
});

describe('a worker', () => {
  it.each([
    ['the same', ability('p', '1', 'a', 'b'), wanted('p', '1', 'a', 'b'), true],
    ['any version', ability('p', '7', 'a'), wanted('p', null, 'a'), true],
    ['another version', ability('p', '2', 'a'), wanted('p', '1', 'a'), false],
    ['a version where the worker has none', ability('p', null, 'a'), wanted('p', '1', 'a'), false],
    ['another pipeline', ability('q', '1', 'a'), wanted('p', '1', 'a'), false],
    ['phases in another order', ability('p', null, 'b', 'a'), wanted('p', null, 'a', 'b'), false],
    ['one phase less', ability('p', null, 'a'), wanted('p', null, 'a', 'b'), false],
  ])('runs a job that wants %s', (_, has, wants, expected) => {
    expect(canRun(has, wants)).toBe(expected);
    expect(blockedBecause([has], wants) === null).toBe(expected);
  });
});

describe('a job that no worker can run', () => {
  const wants = wanted('p', '1', 'a', 'b');
  it.each([
    ['no worker is running', []],
    ['no worker has the pipeline p', [ability('q', null, 'a')]],
    [
      'no worker has version 1 of the pipeline p; they have 2, none',
      [ability('p', null, 'a', 'b'), ability('p', '2', 'a', 'b')],
    ],
    [
      'the phases of the pipeline p changed: the job has a, b, workers have a, c',
      [ability('p', '1', 'a', 'c')],
    ],
  ])('has the reason: %s', (reason, abilities) => {
    expect(blockedBecause(abilities, wants)).toBe(reason);
  });
});

describe('a time slice', () => {
  const slice: Ability = { ...ability('p', null, 'a'), jobId: 'mine' };
  const of = (jobId: string): Wanted => ({ ...wanted('p', null, 'a'), jobId });

  it('can run its job and no other', () => {
    expect(canRun(slice, of('mine'))).toBe(true);
    expect(canRun(slice, of('other'))).toBe(false);
    expect(blockedBecause([slice], of('mine'))).toBeNull();
    expect(blockedBecause([slice], of('other'))).toBe('no worker is running');
  });

  it('has its own words for a missing pipeline', () => {
    expect(blockedBecause([], of('mine'), GIVEN_PIPELINES)).toBe('no pipeline was given');
    expect(blockedBecause([ability('q', null, 'a')], of('mine'), GIVEN_PIPELINES)).toBe(
      'the given pipelines do not include the pipeline p',
    );
  });
});
