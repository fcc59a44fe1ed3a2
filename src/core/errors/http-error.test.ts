import { describe, expect, it } from 'vitest';
import { classifyError } from './classify-error.ts';
import { httpError } from './http-error.ts';

const answer = (status: number, headers: Record<string, string> = {}, url?: string): Response => {
  const response = new Response(null, { status, headers });
  if (url !== undefined) Object.defineProperty(response, 'url', { value: url });
  return response;
};

describe('the error of an HTTP response', () => {
  it('names the status and only the host of the URL', () => {
    const url = 'https://prices.example:8443/items/7?key=secret';
    expect(httpError(answer(503, {}, url)).message).toBe('prices.example:8443 answered 503');
    expect(httpError(answer(503)).message).toBe('the service answered 503');
    expect(httpError({ status: 503, headers: {} }).message).toBe('the service answered 503');
  });

  it('shows the start of the body', () => {
    expect(httpError(answer(400), '{"error":"no such currency"}\n').message).toBe(
      'the service answered 400: {"error":"no such currency"}',
    );
    expect(httpError(answer(500), ' \n').message).toBe('the service answered 500');
    const { message } = httpError(answer(500), 'x'.repeat(1_000_000));
    expect(message).toBe(`the service answered 500: ${'x'.repeat(300)}…`);
  });

  it.each([
    [429, 'throttled'],
    [503, 'overloaded'],
    [504, 'timeout'],
    [404, 'not_found'],
    [422, 'invalid'],
    [403, 'permanent'],
  ])('has the class of its status: %i is %s', (status, errorClass) => {
    expect(classifyError(httpError(answer(status)), 0)).toMatchObject({ class: errorClass });
  });

  it('waits for the time given by Retry-After', () => {
    expect(classifyError(httpError(answer(429, { 'Retry-After': '7' })), 0)).toMatchObject({
      retryAfterMs: 7000,
    });
    expect(classifyError(httpError({ status: 429, headers: { 'retry-after': '7' } }), 0)).toMatchObject({
      retryAfterMs: 7000,
    });
  });
});
