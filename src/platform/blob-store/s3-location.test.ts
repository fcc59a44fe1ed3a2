import { describe, expect, it } from 'vitest';
import { parseS3Location } from './s3-location.ts';

describe('the location of an S3 store', () => {
  it.each([
    ['s3://bucket', { bucket: 'bucket', prefix: '' }],
    ['s3://bucket/', { bucket: 'bucket', prefix: '' }],
    ['s3://my.bucket-1/a/b/', { bucket: 'my.bucket-1', prefix: 'a/b/' }],
    ['s3://bucket/a?region=eu-west-1', { bucket: 'bucket', prefix: 'a/', region: 'eu-west-1' }],
    [
      's3://bucket/a?endpoint=http://127.0.0.1:9000&region=x&pathStyle=false',
      { bucket: 'bucket', prefix: 'a/', endpoint: 'http://127.0.0.1:9000', region: 'x', pathStyle: false },
    ],
    [
      's3://bucket?endpoint=https%3A%2F%2Fhost%2Fstorage%2Fs3&pathStyle=true',
      { bucket: 'bucket', prefix: '', endpoint: 'https://host/storage/s3', pathStyle: true },
    ],
  ])('is parsed from %s', (text, location) => {
    expect(parseS3Location(text)).toEqual(location);
  });

  it.each([
    's3://',
    's3:///a',
    's3://b',
    's3://bucket:9000/a',
    's3://bucket/.a',
    's3://bucket/a b',
    's3://bucket/a//b',
    `s3://bucket/${'a'.repeat(201)}`,
    's3://bucket?regoin=a',
    's3://bucket?pathStyle=yes',
    's3://bucket?endpoint=host:9000',
    's3://bucket?endpoint=ftp://host',
    's3://bucket?endpoint=http://host?a=b',
    'http://bucket/a',
  ])('is refused: %s', (text) => {
    expect(() => parseS3Location(text)).toThrow(expect.objectContaining({ code: 'BLOB_STORE_INVALID' }));
  });

  it.each([
    's3://AKIAID:hunter2@bucket/a',
    's3://hunter2@bucket/a',
    's3://bucket?accessKeyId=AKIAID&secretAccessKey=hunter2',
    's3://bucket?sessionToken=hunter2',
    's3://bucket?endpoint=http://AKIAID:hunter2@host',
  ])('is refused with credentials, which the error does not repeat: %s', (text) => {
    const refusal = expect.objectContaining({
      code: 'BLOB_STORE_INVALID',
      message: expect.stringContaining('without credentials'),
      hint: expect.stringContaining('AWS_ACCESS_KEY_ID'),
    });
    expect(() => parseS3Location(text)).toThrow(refusal);
    expect(() => parseS3Location(text)).not.toThrow(/hunter2|AKIAID/);
  });
});
