import { expect, test } from 'vitest';
import { type BufferLevel, bufferLevel } from './buffer-level.ts';

function levelsOf(fullness: readonly number[]): BufferLevel[] {
  let level: BufferLevel = 'calm';
  return fullness.map((part) => {
    level = bufferLevel(level, part);
    return level;
  });
}

test('a buffer is high from 80 % of its bound, and full at the bound', () => {
  expect(levelsOf([0, 0.79, 0.8, 0.99, 1, 3])).toEqual(['calm', 'calm', 'high', 'high', 'full', 'full']);
});

test('a buffer that hovers around a bound keeps its level', () => {
  expect(levelsOf([0.8, 0.79, 0.81, 0.5])).toEqual(['high', 'high', 'high', 'high']);
  expect(levelsOf([1, 0.99, 1, 0.8])).toEqual(['full', 'full', 'full', 'full']);
  expect(levelsOf([1, 0.7, 0.49, 0.79])).toEqual(['full', 'high', 'calm', 'calm']);
});
