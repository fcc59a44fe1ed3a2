// Names of columns and fields as they are compared: without case, blanks and punctuation, and without accents.

/** Letters that Unicode does not take apart. */
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
/** The other way in which these are written without accents. */
const LONG_LETTERS: Record<string, string> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', ø: 'oe' };

/** Without regard to case, blanks and punctuation. */
export function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

/** The ways in which a name can be written without accents: `Größe` is `grosse` and `groesse`. */
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
