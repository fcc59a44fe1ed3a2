import { expect, test } from 'vitest';
import { signWebhook } from './webhook-signature.ts';

// The example of the Standard Webhooks specification.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1614265330, body: '{"test": 2432232314}' };

test('signs the example of the specification correctly', () => {
  expect(signWebhook([SECRET], message)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('two secrets give two signatures, and each depends on id, time and body', () => {
  const other = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
  const both = signWebhook([SECRET, other], message).split(' ');
  expect(both).toHaveLength(2);
  expect(both[0]).toBe(signWebhook([SECRET], message));
  expect(both[1]).toBe(signWebhook([other], message));
  for (const change of [{ id: 'msg_other' }, { timestamp: 1 }, { body: '{}' }])
    expect(signWebhook([SECRET], { ...message, ...change })).not.toBe(both[0]);
});
