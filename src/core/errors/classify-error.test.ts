import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyError, describe as describeError, MAX_ERROR_LENGTH } from './classify-error.ts';
import { ERROR_CLASSES, type ErrorClass } from '../items/outcome.ts';
import type { ErrorCode } from './error-registry.ts';
import { RowmillError } from './rowmill-error.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');
const classify = (error: unknown) => classifyError(error, NOW_MS);

function withProperties(message: string, properties: object): Error {
  return Object.assign(new Error(message), properties);
}

const axiosLike = (status: number, headers: object = {}): Error =>
  withProperties(`Request failed with status code ${status}`, {
    name: 'AxiosError',
    isAxiosError: true,
    code: status >= 500 ? 'ERR_BAD_RESPONSE' : 'ERR_BAD_REQUEST',
    response: { status, headers },
  });

const fetchFailed = (code: string): Error =>
  new TypeError('fetch failed', { cause: withProperties('socket', { code }) });

describe('the cause of an error', () => {
  it('is part of its message, once', () => {
    const refused = withProperties('connect ECONNREFUSED 127.0.0.1:9', { code: 'ECONNREFUSED' });
    const failed = new TypeError('fetch failed', { cause: refused });
    expect(classify(failed).message).toBe('fetch failed: connect ECONNREFUSED 127.0.0.1:9');
    const wrapped = new Error('no price (fetch failed)', { cause: failed });
    expect(classify(wrapped).message).toBe('no price (fetch failed): connect ECONNREFUSED 127.0.0.1:9');
    const empty = withProperties('', { code: 'ECONNREFUSED' });
    expect(classify(new TypeError('fetch failed', { cause: empty })).message).toBe(
      'fetch failed: ECONNREFUSED',
    );
    expect(classify(new Error('no', { cause: { some: 'object' } })).message).toBe('no');
  });

  it('does not exceed the maximum message length, and may be circular', () => {
    const long = new Error('a'.repeat(MAX_ERROR_LENGTH), { cause: 'b'.repeat(MAX_ERROR_LENGTH) });
    expect(classify(long).message.length).toBeLessThan(MAX_ERROR_LENGTH + 100);
    const round = new Error('round');
    round.cause = round;
    expect(classify(round).message).toBe('round');
  });
});

describe('the class of an error', () => {
  it('is permanent, not not_found, for a file missing from the blob store', () => {
    const lost = new RowmillError('BLOB_NOT_FOUND', 'expected images/1 to be there');
    expect(classify(lost).class).toBe('permanent');
    expect(classify(new Error('cannot read the photo', { cause: lost })).class).toBe('permanent');
  });

  it('is that of the failure, not that of the status, for errors of Rowmill', () => {
    const classOf = (code: ErrorCode) => classify(new RowmillError(code, 'wrong')).class;
    expect(classOf('PIPELINE_INVALID')).toBe('permanent');
    expect(classOf('ITEM_INVALID')).toBe('permanent');
    expect(classOf('JOB_NOT_FOUND')).toBe('permanent');
    expect(classOf('JOB_UNFINISHED')).toBe('permanent');
    expect(classOf('DATABASE_UNREACHABLE')).toBe('overloaded');
    expect(classOf('BLOB_STORE_UNAVAILABLE')).toBe('overloaded');
    expect(classOf('JOB_BUSY')).toBe('overloaded');
    const wrapped = new Error('no model', { cause: new RowmillError('PIPELINE_INVALID', 'wrong') });
    expect(classify(wrapped).class).toBe('permanent');
  });

  it.each([
    [400, 'invalid'],
    [401, 'permanent'],
    [403, 'permanent'],
    [404, 'not_found'],
    [408, 'timeout'],
    [409, 'permanent'],
    [410, 'not_found'],
    [422, 'invalid'],
    [425, 'overloaded'],
    [429, 'throttled'],
    [500, 'overloaded'],
    [502, 'overloaded'],
    [503, 'overloaded'],
    [504, 'timeout'],
    [529, 'overloaded'],
  ])('follows HTTP status %d: %s', (status, expected) => {
    expect(classify(new Response(null, { status })).class).toBe(expected);
    expect(classify(axiosLike(status)).class).toBe(expected);
    expect(classify(withProperties('x', { status })).class).toBe(expected);
    expect(classify(withProperties('x', { statusCode: status })).class).toBe(expected);
  });

  it.each([
    ['ECONNRESET', 'overloaded'],
    ['ECONNREFUSED', 'overloaded'],
    ['ENOTFOUND', 'overloaded'],
    ['EAI_AGAIN', 'overloaded'],
    ['EPIPE', 'overloaded'],
    ['UND_ERR_SOCKET', 'overloaded'],
    ['ETIMEDOUT', 'timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 'timeout'],
    ['UND_ERR_BODY_TIMEOUT', 'timeout'],
    ['UND_ERR_DESTROYED', 'overloaded'],
    ['08006', 'overloaded'],
    ['40001', 'overloaded'],
    ['40P01', 'overloaded'],
    ['53300', 'overloaded'],
    ['57P01', 'overloaded'],
    ['57014', 'timeout'],
    ['PROTOCOL_CONNECTION_LOST', 'overloaded'],
    ['SQLITE_BUSY', 'overloaded'],
    ['23505', 'permanent'],
    ['42P01', 'permanent'],
    ['ENOENT', 'permanent'],
    ['ERR_INVALID_ARG_TYPE', 'permanent'],
  ])('follows the code %s: %s, direct or as the cause of a failed fetch', (code, expected) => {
    expect(classify(withProperties('x', { code })).class).toBe(expected);
    expect(classify(fetchFailed(code)).class).toBe(expected);
  });

  it('does not follow a number that only looks like a code of PostgreSQL', () => {
    expect(classify(withProperties('x', { code: 40001 })).class).toBe('permanent');
  });

  it('is timeout for the error of AbortSignal.timeout', () => {
    expect(classify(new DOMException('The operation was aborted due to timeout', 'TimeoutError')).class).toBe(
      'timeout',
    );
  });

  it('is permanent for a mistake in the handler', () => {
    expect(classify(new TypeError("Cannot read properties of undefined (reading 'x')")).class).toBe(
      'permanent',
    );
  });

  it('follows the status rather than the code if there are both', () => {
    expect(classify(withProperties('x', { status: 404, code: 'ECONNRESET' })).class).toBe('not_found');
  });

  it('ignores a status that is not a number', () => {
    for (const status of [Number.NaN, '429', null, {}, Number.POSITIVE_INFINITY])
      expect(classify(withProperties('x', { status })).class).toBe('permanent');
  });
});

/** The table of docs/writing-pipelines.md. */
function classOfStatus(status: number): ErrorClass {
  if (status === 429) return 'throttled';
  if (status === 404 || status === 410) return 'not_found';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 425 || status >= 500) return 'overloaded';
  return status === 400 || status === 422 ? 'invalid' : 'permanent';
}

const NETWORK = ['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN'];
const NETWORK_TOO = ['EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_SOCKET'];
const TIMEOUTS = ['ETIMEDOUT', 'ESOCKETTIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT'];

describe('the class', () => {
  it('is the same for every HTTP status, in any kind of error object', () => {
    for (let status = 400; status <= 599; status += 1) {
      const carriers = [
        new Response(null, { status }),
        axiosLike(status),
        withProperties('x', { status }),
        withProperties('x', { statusCode: status }),
        withProperties('x', { response: { statusCode: status } }),
        Object.freeze({ status }),
        Object.assign(Object.create(null) as object, { status }),
        Object.assign(() => {}, { status }),
      ];
      for (const carrier of carriers) expect(classify(carrier).class).toBe(classOfStatus(status));
    }
  });

  it('is not derived from a status that is not a failure', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 399 }),
        fc.constantFrom(...NETWORK, ...NETWORK_TOO),
        (status, code) => {
          expect(classify(withProperties('x', { status })).class).toBe('permanent');
          expect(classify(withProperties('x', { status, code })).class).toBe('overloaded');
        },
      ),
    );
  });

  it('follows network codes of the error or its cause, regardless of the text', () => {
    const codes = fc.oneof(
      fc.constantFrom(...NETWORK, ...NETWORK_TOO).map((code) => [code, 'overloaded'] as const),
      fc.constantFrom(...TIMEOUTS, 'UND_ERR_BODY_TIMEOUT').map((code) => [code, 'timeout'] as const),
    );
    fc.assert(
      fc.property(codes, fc.string(), ([code, expected], text) => {
        const error = withProperties(text, { code });
        expect(classify(error).class).toBe(expected);
        expect(classify(new Error(text, { cause: error })).class).toBe(expected);
        expect(classify(new Error(text, { cause: Object.freeze({ code }) })).class).toBe(expected);
      }),
    );
  });
});

describe('Retry-After of any size', () => {
  const carriers = (value: string): unknown[] => [
    new Response(null, { status: 429, headers: { 'Retry-After': value } }),
    axiosLike(429, { 'retry-after': value }),
    withProperties('x', { status: 429, headers: new Headers({ 'Retry-After': value }) }),
    withProperties('x', { status: 429, headers: new Map([['retry-after', value]]) }),
    withProperties('x', { status: 429, retryAfter: value }),
  ];

  it('is read as seconds', () => {
    fc.assert(
      fc.property(fc.nat(), (seconds) => {
        for (const error of carriers(String(seconds)))
          expect(classify(error).retryAfterMs).toBe(seconds * 1000);
      }),
    );
  });

  it('is read as an HTTP date, and is never negative', () => {
    const dates = fc.date({ min: new Date(0), max: new Date('2099-12-31T23:59:59Z'), noInvalidDate: true });
    fc.assert(
      fc.property(dates, (date) => {
        const whole = Math.floor(date.getTime() / 1000) * 1000;
        for (const error of carriers(date.toUTCString()))
          expect(classify(error).retryAfterMs).toBe(Math.max(0, whole - NOW_MS));
      }),
    );
  });

  it('is a time or null for any text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const { retryAfterMs } = classify(axiosLike(429, { 'retry-after': text }));
        expect(retryAfterMs === null || (Number.isFinite(retryAfterMs) && retryAfterMs >= 0)).toBe(true);
      }),
    );
  });
});

describe('Retry-After', () => {
  it.each([
    [
      'seconds in the headers of a Response',
      new Response(null, { status: 429, headers: { 'Retry-After': '7' } }),
      7000,
    ],
    [
      'a date',
      new Response(null, { status: 503, headers: { 'retry-after': 'Thu, 01 Jan 2026 00:01:30 GMT' } }),
      90_000,
    ],
    [
      'a date that has passed',
      new Response(null, { status: 503, headers: { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' } }),
      0,
    ],
    [
      'milliseconds in retry-after-ms',
      new Response(null, { status: 429, headers: { 'retry-after-ms': '250', 'retry-after': '9' } }),
      250,
    ],
    ['seconds in the plain headers of axios', axiosLike(429, { 'retry-after': '3' }), 3000],
    ['milliseconds as a property', withProperties('x', { status: 429, retryAfterMs: 42 }), 42],
    ['seconds as a property', withProperties('x', { status: 429, retryAfter: 2 }), 2000],
    ['a fraction of a second', axiosLike(429, { 'retry-after': '0.5' }), 500],
    ['a negative number', axiosLike(429, { 'retry-after': '-5' }), 0],
    ['something unreadable', axiosLike(429, { 'retry-after': 'soon' }), null],
    ['an empty header', axiosLike(429, { 'retry-after': '' }), null],
    ['nothing', axiosLike(429), null],
  ])('is understood as %s', (_, error, expected) => {
    expect(classify(error).retryAfterMs).toBe(expected);
  });

  it('is read from Retry-After when retry-after-ms is empty', () => {
    expect(classify(axiosLike(429, { 'retry-after-ms': '', 'retry-after': '3' })).retryAfterMs).toBe(3000);
  });
});

const throwing = (): never => {
  throw new Error('trap');
};
/** Throws on every operation. */
const hostileProxy = new Proxy(function target() {}, {
  get: throwing,
  has: throwing,
  getPrototypeOf: throwing,
  ownKeys: throwing,
  getOwnPropertyDescriptor: throwing,
  apply: throwing,
});
/** Returns itself for every property, as mocks do. */
const endlessProxy: unknown = new Proxy({}, { get: () => endlessProxy });

const HOSTILE: [string, unknown][] = [
  ['null', null],
  ['undefined', undefined],
  ['a number', 5],
  ['NaN', Number.NaN],
  ['a bigint', 5n],
  ['a symbol', Symbol('x')],
  ['a function', () => 1],
  ['an empty string', ''],
  ['an empty object', {}],
  ['an object without prototype', Object.create(null)],
  ['a proxy that throws', hostileProxy],
  [
    'a revoked proxy',
    (() => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    })(),
  ],
  [
    'getters that throw',
    Object.defineProperties(
      {},
      Object.fromEntries(
        ['message', 'status', 'code', 'cause', 'headers', 'name', 'response', 'toJSON'].map((name) => [
          name,
          { get: throwing, enumerable: true },
        ]),
      ),
    ),
  ],
  [
    'an error whose message getter throws',
    Object.defineProperty(new Error('x'), 'message', { get: throwing }),
  ],
  ['headers whose get throws', axiosLike(429, { get: throwing })],
  [
    'a circular object',
    (() => {
      const circular: Record<string, unknown> = {};
      circular.self = circular;
      return circular;
    })(),
  ],
  [
    'an error that is its own cause',
    (() => {
      const error = new Error('x');
      error.cause = error;
      return error;
    })(),
  ],
  ['a megabyte of text', 'x'.repeat(1_000_000)],
  ['an error with a megabyte of text', new Error('x'.repeat(1_000_000))],
  ['NUL and half a pair', 'a\0b\ud83d'],
];

const MORE_HOSTILE: [string, unknown][] = [
  ['a proxy that answers with itself', endlessProxy],
  ['an error whose message is not text', Object.defineProperty(new Error('x'), 'message', { value: 5 })],
  ['an error whose name is not text', Object.assign(new Error(''), { name: 7 })],
  ['a code without a text form', withProperties('x', { code: Object.create(null) })],
  ['a code whose text form throws', withProperties('x', { code: { toString: throwing } })],
  ['a Retry-After without a number form', axiosLike(429, { 'retry-after': Object.create(null) })],
  ['a Retry-After that is a symbol', axiosLike(429, { 'retry-after': Symbol('x') })],
  ['a retry-after-ms that is a symbol', axiosLike(429, { 'retry-after-ms': Symbol('x') })],
  ['headers whose get answers with an object', axiosLike(429, { get: () => Object.create(null) })],
];

describe('any thrown value', () => {
  const becomesStorable = (_: string, thrown: unknown): void => {
    const failure = classify(thrown);
    expect(ERROR_CLASSES).toContain(failure.class);
    expect(typeof failure.message).toBe('string');
    expect(failure.message.length).toBeLessThanOrEqual(MAX_ERROR_LENGTH + 40);
    expect(failure.message.isWellFormed()).toBe(true);
    expect(failure.message).not.toContain('\0');
    if (failure.retryAfterMs !== null) expect(failure.retryAfterMs).toBeGreaterThanOrEqual(0);
  };
  it.each(HOSTILE)('%s becomes a failure that can be stored', becomesStorable);
  it.each(MORE_HOSTILE)('%s becomes a failure that can be stored', becomesStorable);

  it('of any shape becomes a failure that can be stored', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withNullPrototype: true,
          withMap: true,
          withSet: true,
          withBigInt: true,
          withDate: true,
        }),
        (thrown) => {
          const failure = classify(thrown);
          expect(failure.message.isWellFormed() && !failure.message.includes('\0')).toBe(true);
        },
      ),
    );
  });
});

describe('hostile objects', () => {
  const READ = ['message', 'name', 'status', 'statusCode', 'response', 'code', 'cause', 'headers'];
  const READ_TOO = ['retryAfter', 'retryAfterMs', 'get', 'retry-after', 'retry-after-ms', 'toJSON'];
  const TRAPS = ['get', 'has', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'apply'] as const;
  const BASES: Record<string, () => object> = {
    object: () => ({}),
    withoutPrototype: () => Object.create(null) as object,
    error: () => new Error('x'),
    array: () => [],
    function: () => () => {},
  };
  interface Recipe {
    base: string;
    /** Properties that throw when they are read. */
    throws: string[];
    /** Values of other properties: plain values or hostile objects. */
    answers: Record<string, { value: unknown } | Recipe>;
    traps: (typeof TRAPS)[number][] | null;
    isFrozen: boolean;
  }
  // Generates recipes instead of objects, because fast-check itself inspects generated values.
  const { recipe } = fc.letrec<{ recipe: Recipe; answer: Recipe | { value: unknown } }>((tie) => ({
    recipe: fc.record({
      base: fc.constantFrom(...Object.keys(BASES)),
      throws: fc.subarray([...READ, ...READ_TOO]),
      answers: fc.dictionary(fc.constantFrom(...READ, ...READ_TOO), tie('answer'), { maxKeys: 6 }),
      traps: fc.option(fc.subarray([...TRAPS])),
      isFrozen: fc.boolean(),
    }),
    answer: fc.oneof(
      { depthSize: 'small' },
      fc.record({ value: fc.anything({ withNullPrototype: true, withBigInt: true }) }),
      fc.record({ value: fc.constantFrom<unknown>(Symbol('x'), 429, '429', -1, 'Infinity', '\0', '\ud83d') }),
      tie('recipe'),
    ),
  }));

  function make({ base, throws, answers, traps, isFrozen }: Recipe): unknown {
    const made = BASES[base]!();
    const define = (name: string, descriptor: PropertyDescriptor) =>
      Reflect.defineProperty(made, name, { ...descriptor, enumerable: true, configurable: true });
    for (const name of throws) define(name, { get: throwing });
    for (const [name, answer] of Object.entries(answers))
      define(name, { value: 'base' in answer ? make(answer) : answer.value });
    if (isFrozen) Object.freeze(made);
    if (traps === null) return made;
    return new Proxy(made, Object.fromEntries(traps.map((trap) => [trap, throwing])));
  }

  it('become failures that can be stored, without throwing', () => {
    fc.assert(
      fc.property(recipe, (given) => {
        const { class: errorClass, message, retryAfterMs } = classify(make(given));
        expect(ERROR_CLASSES).toContain(errorClass);
        expect(message.isWellFormed() && !message.includes('\0')).toBe(true);
        expect(message.length).toBeLessThanOrEqual(MAX_ERROR_LENGTH + 40);
        expect(retryAfterMs === null || (Number.isFinite(retryAfterMs) && retryAfterMs >= 0)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('are classified by their readable properties', () => {
    const broken = Object.freeze(
      Object.defineProperty({ statusCode: 503 }, 'status', { get: throwing, enumerable: true }),
    );
    expect(classify(broken)).toMatchObject({ class: 'overloaded', retryAfterMs: null });
  });

  it('may have causes of any depth', () => {
    let error = new Error('the last');
    for (let depth = 0; depth < 10_000; depth += 1) error = new Error(`depth ${depth}`, { cause: error });
    expect(classify(error)).toMatchObject({
      class: 'permanent',
      message: 'depth 9999: depth 9998: depth 9997: depth 9996: depth 9995: depth 9994',
    });
  });
});

describe('the message of an error', () => {
  it.each<[unknown, string]>([
    [new Error('out of paper'), 'out of paper'],
    [new RangeError(''), 'RangeError'],
    ['out of paper', 'out of paper'],
    [{ message: 'out of paper' }, 'out of paper'],
    [{ code: 7 }, 'the handler threw {"code":7}'],
    [null, 'the handler threw null'],
    [undefined, 'the handler threw undefined'],
    [5, 'the handler threw 5'],
    [hostileProxy, 'the handler threw a value that cannot be read'],
  ])('describes the thrown value (%#)', (thrown, message) => {
    expect(describeError(thrown)).toBe(message);
  });

  it('gives the original length if it is truncated', () => {
    expect(describeError('x'.repeat(9000))).toBe(`${'x'.repeat(MAX_ERROR_LENGTH)}… (9000 characters)`);
  });
});

describe('a wrapped failure', () => {
  it.each([
    ['a status', Object.assign(new Error('http'), { status: 503 }), 'overloaded'],
    ['a code', Object.assign(new Error('socket'), { code: 'ECONNRESET' }), 'overloaded'],
    ['a time-out', Object.assign(new Error('slow'), { code: 'UND_ERR_BODY_TIMEOUT' }), 'timeout'],
  ])('is classified by %s two causes deep', (_, root, expected) => {
    const wrapped = new Error('lookup failed', { cause: new Error('client failed', { cause: root }) });
    expect(classifyError(wrapped, 0)).toMatchObject({
      class: expected,
      message: `lookup failed: client failed: ${root.message}`,
    });
  });

  it('is classified by the outermost error that indicates a class', () => {
    const inner = Object.assign(new Error('inner'), { status: 503 });
    const outer = Object.assign(new Error('outer', { cause: inner }), { status: 404 });
    expect(classifyError(outer, 0).class).toBe('not_found');
  });

  it('may be its own cause', () => {
    const round: Error & { cause?: unknown } = new Error('round');
    round.cause = round;
    expect(classifyError(round, 0).class).toBe('permanent');
  });

  it('keeps the Retry-After of the service, in any spelling of the header', () => {
    const root = Object.assign(new Error('http'), { status: 429, headers: { 'Retry-After': '7' } });
    expect(classifyError(new Error('wrapped', { cause: root }), 0)).toMatchObject({
      class: 'throttled',
      retryAfterMs: 7000,
    });
  });
});
