// Explains why a password is too easy to guess. Length makes passwords strong, so there are no rules about character
// types; common passwords are refused. The reason never quotes the password.

const LEAST_LENGTH = 12;
/** Minimum length of a password after the account name is removed from it. */
const LEAST_BESIDE_NAME = 8;

/** Common passwords, and stems that are long enough with digits and punctuation added at the end. */
const COMMON = new Set([
  'password',
  'passwordpassword',
  'passw0rd',
  'p@ssword',
  'p@ssw0rd',
  'qwerty',
  'qwertyqwerty',
  'qwertyuiop',
  'qwertyuiopasdfghjkl',
  'qwertyuiopasdfghjklzxcvbnm',
  'asdfghjkl',
  'asdfghjklzxcvbnm',
  'zxcvbnm',
  '1q2w3e4r5t6y',
  '1qaz2wsx3edc',
  '1qaz2wsx3edc4rfv',
  'qazwsxedcrfv',
  'iloveyou',
  'iloveyouforever',
  'letmein',
  'letmeinplease',
  'welcome',
  'welcometorowmill',
  'admin',
  'adminadmin',
  'administrator',
  'rootroot',
  'superuser',
  'superman',
  'batman',
  'football',
  'baseball',
  'princess',
  'sunshine',
  'monkey',
  'dragon',
  'master',
  'michael',
  'jennifer',
  'trustno',
  'changeme',
  'changemenow',
  'changeit',
  'secret',
  'secretsecret',
  'default',
  'test',
  'testtest',
  'testtesttest',
  'testpassword',
  'mypassword',
  'thisismypassword',
  'correcthorsebatterystaple',
  'abcdefghijkl',
  'abcdefghijklm',
  'abcdefghijklmnopqrstuvwxyz',
  'abc',
  'rowmill',
  'rowmillrowmill',
  'postgres',
  'postgrespostgres',
]);

export function weakPasswordBecause(password: string, userId: string): string | null {
  if ([...password].length < LEAST_LENGTH)
    return `expected a password of at least ${LEAST_LENGTH} characters`;
  const plain = password.normalize('NFKC').toLowerCase();
  if (new Set(plain).size < 5) return 'the password repeats a few characters';
  if (isRun(plain)) return 'the password is a sequence of consecutive characters';
  const stem = withoutSignsAtEnd(plain);
  if (stem === '') return 'the password has only digits and punctuation';
  if (COMMON.has(plain) || COMMON.has(stem)) return 'the password is on the list of common passwords';
  if (plain.includes(userId) && plain.replaceAll(userId, '').length < LEAST_BESIDE_NAME)
    return 'the password is little more than the account name';
  return null;
}

function withoutSignsAtEnd(text: string): string {
  const signs = [...text];
  while (signs.length > 0 && /^[\d\p{P}\s]$/u.test(signs.at(-1)!)) signs.pop();
  return signs.join('');
}

/** True for text such as 123456789012 or abcdefghijkl, ascending or descending. */
function isRun(text: string): boolean {
  const codes = [...text].map((sign) => sign.codePointAt(0)!);
  const steps = codes.slice(1).map((code, index) => code - codes[index]!);
  return steps.filter((step) => step === 1 || step === -1).length >= steps.length - 2;
}
