// Keeps retired words out of the page, and headless openings and other habits out of comments and docs.
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Prose, readComments, readParagraphs, readTexts } from './support/read-prose.ts';

const FOLDERS_OF_TEXTS = ['web'];
const FOLDERS_OF_COMMENTS = ['web', 'src', 'test', 'bench', 'examples', 'template'];

/** Retired words of the page, and the words that replace them. */
const RETIRED: readonly (readonly [RegExp, string])[] = [
  [/\bof everybody\b/i, "Show everyone's"],
  [/\btold\b|\btells?\b/i, 'reported, notified, Events'],
  [/\bheard of\b/i, 'Last seen'],
  [/\bshut out\b/i, 'Deactivate'],
  [/\bfits\b|\bthat fit\b/i, 'matches, No matching …'],
  [/\b(make|makes|made) (it|the|a|an)\b|^Made\b/i, 'Create, Created'],
  [/^Ended\b|\b(has|have|not) ended\b|\bended with\b/i, 'Finished'],
  [/\bend the key\b/i, 'Revoke'],
  [/\bgo back\b/i, 'Cancel'],
  [/\bgo on\b|\bgoes on\b/i, 'Resume, Continue'],
  [/\bruns? (them |these |it )?again\b(?! as)|\bfailed again\b/i, 'Retry, Rerun'],
  [/\btry (it |them |all )?.*\bnow\b|\banother try\b/i, 'Retry … now, waiting to retry'],
  [/\bchosen\b|\bchoose (row|all|the rows)\b/i, 'selected, Select'],
  [/\bgenerations\b/i, 'Runs'],
  [/\bin the clipboard\b/i, 'Copied'],
  [/\bstands?\b/i, 'appears, is listed'],
  [/\bfound: /i, '… (auto)'],
  [/\bunder way\b/i, 'active'],
  [/\btrial\b/i, 'test run'],
  [/\bemitted\b/i, 'added'],
  [/\b(system|light|dark) colours\b|\bcolours of the system\b/i, 'theme'],
  [/\b(somebody|whoever|nobody|everybody)\b/i, 'person, someone, everyone'],
];

/** Texts that may contain a retired word. */
const ALLOWED_TEXTS = ['Run this file again'];

const HEADLESS = /^(What|Whatever|Of|Those|Who|Whoever|Whom|Whose)\b/;
const HABITS: readonly (readonly [RegExp, string])[] = [
  [/\b(somebody|whoever|nobody|everybody)\b/i, 'the user, the worker, the client'],
  [/(?<!\bthere )\b(is|are|was|were) no (?!longer\b|more\b)/i, 'is not a …'],
  [/\b(tells|told|goes on|gone on|anew)\b/i, 'reports, continues, again'],
  [/\b(under way|to be had|lets? itself be)\b/i, 'in progress, available, can be'],
  [/\bstands\b/i, 'is, is stored, appears'],
];

/** Comments that may break a rule, by their beginning. */
const ALLOWED_COMMENTS: readonly string[] = [];

describe.each(FOLDERS_OF_TEXTS)('the texts of %s', (folder) => {
  const texts = readTexts(folder);

  it('are seen by this test', () => {
    expect(texts.length).toBeGreaterThan(500);
    const all = texts.map(({ text }) => text);
    expect(all).toContain('Keep running');
    expect(all).toContain('Test run finished — … … waiting');
  });

  it('have no retired words', () => {
    const found = texts
      .filter(({ text }) => !ALLOWED_TEXTS.includes(text))
      .flatMap(({ path, text }) =>
        RETIRED.filter(([word]) => word.test(text)).map(([, use]) => `${path}: "${text}" (${use})`),
      );
    expect(found).toEqual([]);
  });
});

describe.each(FOLDERS_OF_COMMENTS)('the comments of %s', (folder) => {
  const comments = readComments(folder).filter(
    ({ text }) => !ALLOWED_COMMENTS.some((beginning) => text.startsWith(beginning)),
  );

  it('are seen by this test', () => {
    expect(comments.length).toBeGreaterThan(0);
  });

  it('name their subject', () => {
    expect(headlessOf(comments)).toEqual([]);
  });

  it('use plain words', () => {
    expect(habitsOf(comments)).toEqual([]);
  });
});

describe('the pages of the documentation', () => {
  const paragraphs = listPages().flatMap(readParagraphs);

  it('are seen by this test', () => {
    expect(paragraphs.length).toBeGreaterThan(1000);
    expect(paragraphs.map(({ text }) => text)).toContain('Changelog');
  });

  it('name their subject', () => {
    expect(headlessOf(paragraphs)).toEqual([]);
  });

  it('use plain words', () => {
    expect(habitsOf(paragraphs)).toEqual([]);
  });
});

function listPages(): string[] {
  const pagesOf = (folder: string): string[] =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`);
  return ['.', 'docs', 'docs/decisions'].flatMap(pagesOf);
}

/** A question may begin with "What". */
function headlessOf(texts: readonly Prose[]): string[] {
  return texts
    .filter(({ text }) =>
      text.split(/(?<=[.!?]) /).some((sentence) => HEADLESS.test(sentence) && !sentence.endsWith('?')),
    )
    .map(({ path, text }) => `${path}: ${text}`);
}

function habitsOf(texts: readonly Prose[]): string[] {
  return texts.flatMap(({ path, text }) =>
    HABITS.filter(([habit]) => habit.test(text)).map(([, use]) => `${path}: ${text} (${use})`),
  );
}
