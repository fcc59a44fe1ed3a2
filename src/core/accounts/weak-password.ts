// Why a password is too easy to guess; null when it is not. Length is what makes passwords hard, so there are no rules about
// signs; refused are those that everybody tries first. The text never quotes the password.

const LEAST_LENGTH = 12;
/** What has to be left of a password without the name of its account. */
const LEAST_BESIDE_NAME = 8;

/** Beginnings and whole passwords of the common lists that are long enough to pass; digits and signs at the end do not count. */
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
  if (isRun(plain)) return 'the password is a run of neighbouring characters';
  const stem = withoutSignsAtEnd(plain);
  if (stem === '') return 'the password has nothing but digits and signs';
  if (COMMON.has(plain) || COMMON.has(stem)) return 'the password is among those that everybody tries first';
  if (plain.includes(userId) && plain.replaceAll(userId, '').length < LEAST_BESIDE_NAME)
    return 'the password is little more than the name of the account';
  return null;
}

function withoutSignsAtEnd(text: string): string {
  const signs = [...text];
  while (signs.length > 0 && /^[\d\p{P}\s]$/u.test(signs.at(-1)!)) signs.pop();
  return signs.join('');
}

/** Such as 123456789012 or abcdefghijkl, up or down. */
function isRun(text: string): boolean {
  const codes = [...text].map((sign) => sign.codePointAt(0)!);
  const steps = codes.slice(1).map((code, index) => code - codes[index]!);
  return steps.filter((step) => step === 1 || step === -1).length >= steps.length - 2;
}
