// Normalizes names of columns and fields for comparison: without case, blanks, punctuation and accents.

/** Letters that Unicode normalization does not decompose. */
const LETTERS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ħ: 'h',
};
/** Alternative spellings of these letters without accents. */
const LONG_LETTERS: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', ø: 'oe' };

/** Removes case, blanks and punctuation. */
export function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

/** All spellings of a name without accents: `Größe` gives `grosse` and `groesse`. */
export function foldName(name: string): string[] {
  const plain = plainName(name);
  const long = plain.replace(/[äöüåø]/g, (letter) => LONG_LETTERS[letter]!);
  return [...new Set([withoutAccents(plain), withoutAccents(long)])].filter((each) => each !== '');
}

function withoutAccents(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[ßæœøłđðþıħ]/g, (letter) => LETTERS[letter]!);
}
