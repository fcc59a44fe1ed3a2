// A self-signed certificate for 127.0.0.1 and localhost, created for each run: Node can create keys and signatures,
// but not the certificate around them.
import { generateKeyPairSync, sign } from 'node:crypto';

export interface SelfSignedCertificate {
  key: string;
  /** PEM; also the authority to trust. */
  cert: string;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8 = 0x0c;
const TIME = 0x18;
// Object identifiers, encoded.
const COMMON_NAME = '550403';
const ALTERNATIVE_NAMES = '551d11';
const BASIC_CONSTRAINTS = '551d13';
const ECDSA_SHA256 = '2a8648ce3d040302';

export function makeSelfSignedCertificate(): SelfSignedCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, oid(ECDSA_SHA256));
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, oid(COMMON_NAME), der(UTF8, Buffer.from('localhost')))));
  const names = der(SEQUENCE, der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])));
  const authority = der(SEQUENCE, der(0x01, Buffer.from([0xff])));
  const extensions = der(
    SEQUENCE,
    der(SEQUENCE, oid(ALTERNATIVE_NAMES), der(OCTET_STRING, names)),
    der(SEQUENCE, oid(BASIC_CONSTRAINTS), der(OCTET_STRING, authority)),
  );
  const body = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1])),
    algorithm,
    name,
    der(SEQUENCE, der(TIME, Buffer.from('20200101000000Z')), der(TIME, Buffer.from('21200101000000Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]);
  const certificate = der(SEQUENCE, body, algorithm, der(BIT_STRING, signature));
  const lines = certificate
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const length =
    body.length < 0x80
      ? Buffer.from([body.length])
      : body.length < 0x100
        ? Buffer.from([0x81, body.length])
        : Buffer.from([0x82, body.length >> 8, body.length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), length, body]);
}

function oid(hex: string): Buffer {
  return der(OBJECT_ID, Buffer.from(hex, 'hex'));
}
