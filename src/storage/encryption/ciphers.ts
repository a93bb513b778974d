/**
 * The ciphers of kube-apiserver's encryption providers. Each works on the bytes after the header that names the provider
 * and the key.
 */
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import type { Random } from "../../base/random.ts";

export interface Cipher {
  /** `context` is the key of the object in the store. */
  encrypt(plain: Buffer, context: Buffer): Buffer;
  /** Throws if the bytes were not encrypted with this key, or, where the cipher authenticates it, for another context. */
  decrypt(sealed: Buffer, context: Buffer): Buffer;
}

const GCM_NONCE_BYTES = 12;
const GCM_TAG_BYTES = 16;
const CBC_BLOCK_BYTES = 16;
const SECRETBOX_NONCE_BYTES = 24;
const INFO_BYTES = 32;
/** Length of a seed from which `derivedKeyGcm` derives keys. */
export const SEED_BYTES = 32;

/** AES in Galois counter mode with random nonces. A value copied to the key of another object cannot be decrypted. */
export function aesGcm(key: Buffer, random: Random): Cipher {
  const algorithm = `aes-${key.length * 8}-gcm` as "aes-256-gcm";
  return {
    encrypt(plain, context) {
      const nonce = random.bytes(GCM_NONCE_BYTES);
      const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: GCM_TAG_BYTES }).setAAD(context);
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    decrypt(sealed, context) {
      const nonce = sealed.subarray(0, GCM_NONCE_BYTES);
      const tagStart = sealed.length - GCM_TAG_BYTES;
      if (tagStart < GCM_NONCE_BYTES) throw new Error("the value is too short");
      const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: GCM_TAG_BYTES })
        .setAAD(context)
        .setAuthTag(sealed.subarray(tagStart));
      return Buffer.concat([decipher.update(sealed.subarray(GCM_NONCE_BYTES, tagStart)), decipher.final()]);
    },
  };
}

/**
 * As `aesGcm`, but each value has its own key, which HKDF-Expand derives from the seed and from random bytes at the start
 * of the value. So a seed has no limit on the number of values. One HMAC is all that HKDF-Expand does for 32 bytes.
 */
export function derivedKeyGcm(seed: Buffer, random: Random): Cipher {
  if (seed.length < SEED_BYTES) throw new Error("the seed is too short");
  const withKeyFrom = (info: Uint8Array): Cipher =>
    aesGcm(createHmac("sha256", seed).update(info).update(FIRST_BLOCK).digest(), random);
  return {
    encrypt(plain, context) {
      const info = random.bytes(INFO_BYTES);
      return Buffer.concat([info, withKeyFrom(info).encrypt(plain, context)]);
    },
    decrypt(sealed, context) {
      if (sealed.length < INFO_BYTES) throw new Error("the value is too short");
      return withKeyFrom(sealed.subarray(0, INFO_BYTES)).decrypt(sealed.subarray(INFO_BYTES), context);
    },
  };
}

/** The block counter of HKDF-Expand. */
const FIRST_BLOCK = Buffer.from([1]);

/** AES in cipher block chaining mode with PKCS #7 padding. It authenticates nothing. */
export function aesCbc(key: Buffer, random: Random): Cipher {
  const algorithm = `aes-${key.length * 8}-cbc`;
  return {
    encrypt(plain) {
      const vector = random.bytes(CBC_BLOCK_BYTES);
      const cipher = createCipheriv(algorithm, key, vector);
      return Buffer.concat([vector, cipher.update(plain), cipher.final()]);
    },
    decrypt(sealed) {
      const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, CBC_BLOCK_BYTES));
      return Buffer.concat([decipher.update(sealed.subarray(CBC_BLOCK_BYTES)), decipher.final()]);
    },
  };
}

/** NaCl's secretbox: XSalsa20 and Poly1305 with random nonces. Node.js has neither. */
export function secretbox(key: Buffer, random: Random): Cipher {
  return {
    encrypt(plain) {
      const nonce = random.bytes(SECRETBOX_NONCE_BYTES);
      return Buffer.concat([nonce, xsalsa20poly1305(key, nonce).encrypt(plain)]);
    },
    decrypt(sealed) {
      const nonce = sealed.subarray(0, SECRETBOX_NONCE_BYTES);
      const plain = xsalsa20poly1305(key, nonce).decrypt(sealed.subarray(SECRETBOX_NONCE_BYTES));
      return Buffer.from(plain.buffer, plain.byteOffset, plain.length);
    },
  };
}
