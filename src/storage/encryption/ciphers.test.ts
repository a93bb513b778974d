import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { aesCbc, aesGcm, derivedKeyGcm, secretbox } from "./ciphers.ts";
import { DATA_KEY_TYPE, decodeValue, encodeValue } from "./kms/messages.ts";

const random = { float: () => 0, bytes: (length: number) => randomBytes(length) };
const KEY = Buffer.alloc(32, 3);
const CONTEXT = Buffer.from("/registry/secrets/default/s");
const PLAIN = Buffer.from("a value");

const CIPHERS = { aesGcm, aesCbc, secretbox, derivedKeyGcm };

describe.each(Object.entries(CIPHERS))("%s", (_name, create) => {
  const cipher = create(KEY, random);

  test("decrypts the values that it has encrypted, each time with other bytes", () => {
    const sealed = [cipher.encrypt(PLAIN, CONTEXT), cipher.encrypt(PLAIN, CONTEXT)];
    expect(sealed[0]!.equals(sealed[1]!)).toBe(false);
    for (const one of sealed) expect(cipher.decrypt(one, CONTEXT)).toEqual(PLAIN);
  });

  test("rejects truncated values", () => {
    const sealed = cipher.encrypt(PLAIN, CONTEXT);
    for (let length = 0; length < sealed.length; length++)
      expect(() => cipher.decrypt(sealed.subarray(0, length), CONTEXT)).toThrow();
  });
});

test.each([
  ["AES-GCM", aesGcm],
  ["AES-GCM with derived keys", derivedKeyGcm],
])("%s rejects the value of another object", (_name, create) => {
  const cipher = create(KEY, random);
  expect(() => cipher.decrypt(cipher.encrypt(PLAIN, CONTEXT), Buffer.from("/registry/secrets/default/t"))).toThrow();
});

test("a derived key is that of HKDF-Expand with SHA-256, so that kube-apiserver derives the same", () => {
  // HKDF extracts a pseudorandom key from its input first; kube-apiserver uses the seed as this key.
  const [salt, input] = [Buffer.from("salt"), Buffer.from("input")];
  const seed = createHmac("sha256", salt).update(input).digest();
  const sealed = derivedKeyGcm(seed, random).encrypt(PLAIN, CONTEXT);
  const info = sealed.subarray(0, 32);
  const key = Buffer.from(hkdfSync("sha256", input, salt, info, 32));
  expect(aesGcm(key, random).decrypt(sealed.subarray(32), CONTEXT)).toEqual(PLAIN);
});

test("a value of a KMS provider keeps its fields, also of kinds of data keys that are not written any more", () => {
  const dataKey = { ciphertext: randomBytes(40), keyId: "key", annotations: new Map([["a.b", Buffer.from("c")]]) };
  for (const type of Object.values(DATA_KEY_TYPE)) {
    const value = { data: randomBytes(100), dataKey, type };
    expect(decodeValue(encodeValue(value))).toEqual(value);
  }
});
