// Misbehaving handlers, each with the result that its item, and only its item, must get. They run in worker-child.mjs;
// hostile-handlers.test.ts compares.
import { setTimeout as sleep } from 'node:timers/promises';
import { fail, notFound, retryLater, skip } from '../../dist/index.js';

const DONE = (result) => ({ status: 'DONE', result });
const ERROR = (errorClass = 'permanent', message = /./) => ({ status: 'ERROR', errorClass, message });

function circular() {
  const value = { name: 'loop' };
  value.self = value;
  return value;
}

function nested(depth) {
  let value = [];
  for (let i = 1; i < depth; i += 1) value = [value];
  return value;
}

/** Every trap throws. */
function bristling() {
  const refuse = () => {
    throw new Error('do not touch');
  };
  const traps = ['get', 'set', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'apply'];
  return new Proxy({}, Object.fromEntries(traps.map((trap) => [trap, refuse])));
}

function rejects(value) {
  return () => Promise.reject(value());
}

function returns(value) {
  return async () => value();
}

export const EMOJI = '👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿 é漢字 \u{10ffff}';

export const HOSTILE_CASES = {
  'throws synchronously': {
    run() {
      throw new Error('at once');
    },
    ...ERROR('permanent', /^at once$/),
  },
  'rejects with a string': { run: rejects(() => 'a string'), ...ERROR('permanent', /^a string$/) },
  'rejects with null': { run: rejects(() => null), ...ERROR('permanent', /null/) },
  'rejects with undefined': { run: rejects(() => undefined), ...ERROR('permanent', /undefined/) },
  'rejects with a number': { run: rejects(() => 42), ...ERROR('permanent', /42/) },
  'rejects with a symbol': { run: rejects(() => Symbol('sign')), ...ERROR('permanent', /sign/) },
  'rejects with a function': { run: rejects(() => () => {}), ...ERROR() },
  'rejects with a huge object': { run: rejects(() => ({ data: 'x'.repeat(10_000_000) })), ...ERROR() },
  'rejects with a huge message': { run: rejects(() => new Error('y'.repeat(10_000_000))), ...ERROR() },
  'rejects with a huge message of emoji': {
    run: rejects(() => new Error('👩'.repeat(1_000_000))),
    ...ERROR(),
  },
  'rejects with a circular object': { run: rejects(circular), ...ERROR() },
  'rejects with a proxy that throws': { run: rejects(bristling), ...ERROR() },
  'rejects with an error whose getters throw': {
    run: rejects(() => {
      const error = new Error('hidden');
      for (const key of ['message', 'name', 'code', 'status', 'cause', 'stack', 'headers']) {
        Object.defineProperty(error, key, {
          get() {
            throw new Error(`no ${key}`);
          },
        });
      }
      return error;
    }),
    ...ERROR(),
  },
  'rejects with NUL and half an emoji': {
    run: rejects(() => new Error('a\0b \ud83d c')),
    ...ERROR('permanent', /^a\ufffdb \ufffd c$/),
  },
  'rejects with characters that COPY escapes': {
    run: rejects(() => new Error('tab\t newline\n return\r backslash\\ \\N \\.')),
    ...ERROR('permanent', /^tab\t newline\n return\r backslash\\ \\N \\\.$/),
  },
  'rejects with a getter that throws in its data': {
    run: rejects(() => ({
      get data() {
        throw new Error('no');
      },
    })),
    ...ERROR(),
  },
  'never resolves': { run: () => new Promise(() => {}), ...ERROR('timeout', /200 ms/) },
  'resolves after its timeout': {
    async run() {
      await sleep(400);
      return { late: true };
    },
    ...ERROR('timeout', /200 ms/),
  },
  'rejects after its timeout': {
    async run() {
      await sleep(400);
      throw new Error('late');
    },
    ...ERROR('timeout', /200 ms/),
  },
  'returns a thenable that never answers': {
    // biome-ignore lint/suspicious/noThenProperty: that is the point
    run: () => ({ then() {} }),
    ...ERROR('timeout', /200 ms/),
  },
  'returns a thenable that answers twice': {
    run: () => ({
      // biome-ignore lint/suspicious/noThenProperty: that is the point
      then(resolve, reject) {
        resolve({ first: true });
        resolve({ second: true });
        reject(new Error('third'));
      },
    }),
    ...DONE({ first: true }),
  },
  'returns a thenable that throws': {
    run: () => ({
      // biome-ignore lint/suspicious/noThenProperty: that is the point
      then() {
        throw new Error('in then');
      },
    }),
    ...ERROR('permanent', /in then/),
  },
  'returns undefined': { run: returns(() => undefined), ...DONE(null) },
  'returns null': { run: returns(() => null), ...DONE(null) },
  'returns NaN': { run: returns(() => Number.NaN), ...DONE(null) },
  'returns a BigInt': { run: returns(() => 1n), ...ERROR() },
  'returns a BigInt inside': { run: returns(() => ({ deep: [1n] })), ...ERROR() },
  'returns a Date': { run: returns(() => new Date(0)), ...DONE('1970-01-01T00:00:00.000Z') },
  'returns an invalid Date': { run: returns(() => new Date(Number.NaN)), ...DONE(null) },
  'returns a Map': { run: returns(() => new Map([[1, 2]])), ...DONE({}) },
  'returns a function': { run: returns(() => () => {}), ...ERROR() },
  'returns a Symbol': { run: returns(() => Symbol('sign')), ...ERROR() },
  'returns a circular object': { run: returns(circular), ...ERROR() },
  'returns a 50 MB string': { run: returns(() => 'z'.repeat(50_000_000)), ...ERROR('permanent', /limit/) },
  'returns an array 100,000 deep': { run: returns(() => nested(100_000)), ...ERROR() },
  'returns an array 3,000 deep': { run: returns(() => nested(3000)), ...ERROR('permanent', /deeper/) },
  'returns an array 900 deep': { run: returns(() => nested(900)), ...DONE(nested(900)) },
  'returns an object with __proto__ keys': {
    run: returns(() => JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}')),
    ...DONE(JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}}')),
  },
  'returns NUL': { run: returns(() => ({ text: 'a\0b' })), ...ERROR('permanent', /NUL/) },
  'returns NUL in a key': { run: returns(() => ({ 'a\0b': 1 })), ...ERROR('permanent', /NUL/) },
  'returns half an emoji': { run: returns(() => ({ text: '\ud83d' })), ...ERROR('permanent', /surrogate/) },
  'returns the text of an escape': {
    run: returns(() => ({ text: '\\u0000 \\ud83d \\\\ \\N \t\n' })),
    ...DONE({ text: '\\u0000 \\ud83d \\\\ \\N \t\n' }),
  },
  'returns emoji': { run: returns(() => ({ text: EMOJI })), ...DONE({ text: EMOJI }) },
  'returns a toJSON that throws': {
    run: returns(() => ({
      toJSON() {
        throw new Error('in toJSON');
      },
    })),
    ...ERROR('permanent', /in toJSON/),
  },
  'returns a getter that throws': {
    run: returns(() => ({
      get data() {
        throw new Error('in a getter');
      },
    })),
    ...ERROR('permanent', /in a getter/),
  },
  'returns a getter that throws null': {
    run: returns(() => ({
      get data() {
        throw null;
      },
    })),
    ...ERROR(),
  },
  'returns a proxy that throws': { run: returns(bristling), ...ERROR() },
  'returns a number that JSON cannot represent': {
    run: returns(() => [Number.POSITIVE_INFINITY, -0, 1e308]),
    ...DONE([null, 0, 1e308]),
  },
  skips: { run: () => skip('not wanted'), status: 'SKIPPED', result: { reason: 'not wanted' } },
  'finds nothing': {
    run: () => notFound('gone'),
    status: 'NOT_FOUND',
    errorClass: 'not_found',
    message: /gone/,
  },
  'returns an error as its result': { run: () => fail('no way'), ...ERROR('permanent', /no way/) },
};

/** Each case has its own process in the test: an error in our own code would kill it. */
export const HOSTILE_CASES_ALONE = {
  'an error whose message is an object': {
    run: rejects(() => Object.assign(new Error('x'), { message: { detail: 'from a service' } })),
    ...ERROR(),
  },
  'an error whose name is a symbol': {
    run: rejects(() => Object.assign(new Error(''), { name: Symbol('sign') })),
    ...ERROR(),
  },
  'an error whose code is an object without a prototype': {
    run: rejects(() => Object.assign(new Error('x'), { code: Object.create(null) })),
    ...ERROR(),
  },
  'an error whose retryAfter is a symbol': {
    run: rejects(() => Object.assign(new Error('x'), { retryAfter: Symbol('soon') })),
    ...ERROR(),
  },
  'an error whose headers hold an object without a prototype': {
    run: rejects(() => Object.assign(new Error('x'), { headers: { 'retry-after-ms': Object.create(null) } })),
    ...ERROR(),
  },
  'a result whose prototype cannot be read': {
    run: returns(
      () =>
        new Proxy(
          {},
          {
            getPrototypeOf() {
              throw new Error('no prototype');
            },
          },
        ),
    ),
    ...DONE({}),
  },
  'skip without a reason': { run: () => skip(), status: 'SKIPPED' },
  'skip with a reason that is an object': { run: () => skip({ why: 'x' }), status: 'SKIPPED' },
  'fail without a reason': { run: () => fail(), ...ERROR() },
  'notFound with null': {
    run: () => notFound(null),
    status: 'NOT_FOUND',
    errorClass: 'not_found',
    message: /./,
  },
  'retryLater after NaN': { run: () => retryLater({ afterMs: Number.NaN }), status: 'ERROR', message: /./ },
  'retryLater after a text': { run: () => retryLater({ afterMs: 'soon' }), status: 'ERROR', message: /./ },
  'a classify that returns an unknown class': {
    run: rejects(() => Object.assign(new Error('x'), { classified: { class: 'bogus' } })),
    ...ERROR('permanent'),
  },
  'a classify that removes the message': {
    run: rejects(() => Object.assign(new Error('x'), { classified: { message: undefined } })),
    ...ERROR('permanent'),
  },
  'a classify whose message is an object': {
    run: rejects(() => Object.assign(new Error('x'), { classified: { message: { a: 1 } } })),
    ...ERROR('permanent'),
  },
  'a classify whose message is huge and has NUL': {
    run: rejects(() => Object.assign(new Error('x'), { classified: { message: '\0'.repeat(1_000_000) } })),
    ...ERROR('permanent'),
  },
  'a classify that throws': {
    run: rejects(() =>
      Object.defineProperty(new Error('as it was'), 'classified', {
        get() {
          throw new Error('in classify');
        },
      }),
    ),
    ...ERROR('permanent', /as it was/),
  },
};

export function runHostile(name) {
  return (HOSTILE_CASES[name] ?? HOSTILE_CASES_ALONE[name]).run();
}
