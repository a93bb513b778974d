/** A KMS provider without a server: values of every kind, and what it rejects. */
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { KeyService } from "../../../../test/testing/storage/encryption/key-service.ts";
import { createManualClock } from "../../../../test/testing/storage/conformance/manual-clock.ts";
import { MetricsRegistry } from "../../../base/metrics.ts";
import { aesGcm } from "../ciphers.ts";
import { createEncryptionMetrics } from "../encryption-metrics.ts";
import { KmsProvider } from "./kms-provider.ts";
import { DATA_KEY_TYPE, encodeValue, type EncryptedDataKey, type EncryptedValue, type KmsStatus } from "./messages.ts";

const random = { float: () => 0, bytes: (length: number) => randomBytes(length) };
const CONTEXT = Buffer.from("/registry/secrets/default/s");
const PLAIN = Buffer.from('{"kind":"Secret"}');
const DATA = randomBytes(60);

interface Changes {
  readonly status?: Partial<KmsStatus>;
  readonly encrypted?: Partial<EncryptedDataKey>;
}

class ProviderTest {
  readonly service = new KeyService();
  readonly clock = createManualClock();
  changes: Changes = {};
  /** The plugin returns this instead of the data key. */
  answer: Buffer | undefined;
  /** Holds calls back. */
  held: ((dataKey: EncryptedDataKey) => Promise<void>) | undefined;
  readable = 0;
  readonly provider = new KmsProvider({
    name: "test",
    plugin: {
      status: async () => ({ ...this.service.status(), ...this.changes.status }),
      encrypt: async (plaintext) => ({ ...this.service.encrypt(plaintext), ...this.changes.encrypted }),
      decrypt: async (dataKey) => {
        await this.held?.(dataKey);
        return this.answer ?? this.service.decrypt(dataKey);
      },
      close: () => {},
    },
    clock: this.clock,
    random,
    metrics: createEncryptionMetrics(new MetricsRegistry(), this.clock, "server"),
    onReadable: () => void this.readable++,
  });

  /** A value that another server has written. */
  async foreign(type: number = DATA_KEY_TYPE.derivedKeySeed): Promise<Buffer> {
    const other = new ProviderTest();
    await other.provider.check();
    if (type === DATA_KEY_TYPE.derivedKeySeed) return other.provider.seal(PLAIN, CONTEXT).body;
    const key = randomBytes(32);
    return encodeValue({ data: aesGcm(key, random).encrypt(PLAIN, CONTEXT), dataKey: this.service.encrypt(key), type });
  }

  /** The status is good, and what follows from it is done. */
  async checked(): Promise<void> {
    await this.provider.check();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("a value whose data key encrypts it directly, as earlier releases wrote it, is read, and is outdated", async () => {
  const t = new ProviderTest();
  await t.provider.check();
  const key = randomBytes(32);
  const data = aesGcm(key, random).encrypt(PLAIN, CONTEXT);
  const body = encodeValue({ data, dataKey: t.service.encrypt(key), type: DATA_KEY_TYPE.aesGcmKey });
  const opened = await t.provider.open(body, CONTEXT);
  if (typeof opened === "string") throw new Error(opened);
  expect(opened.value).toEqual(PLAIN);
  expect(opened.sealing.sealedBy).not.toBe(t.provider.current);
  expect(t.provider.reads(opened.sealing.sealedBy)).toBe(true);
});

describe("a value is unreadable", () => {
  interface Change extends Partial<Omit<EncryptedValue, "dataKey">> {
    readonly dataKey?: Partial<EncryptedDataKey>;
  }
  const changed = ({ dataKey, ...fields }: Change): Buffer => {
    const whole = { ...new KeyService().encrypt(randomBytes(32)), ...dataKey };
    return encodeValue({ data: DATA, type: DATA_KEY_TYPE.derivedKeySeed, ...fields, dataKey: whole });
  };
  const annotation = (name: string, bytes: number): Buffer =>
    changed({ dataKey: { annotations: new Map([[name, Buffer.alloc(bytes)]]) } });

  test.each<[string, Buffer, string]>([
    ["that is not a message", Buffer.from([0x0a, 0x7f]), "is truncated"],
    ["without data", changed({ data: Buffer.alloc(0) }), "it has no data"],
    ["with an unknown kind of data key", changed({ type: 9 }), "unknown type 9"],
    ["without a key ID", changed({ dataKey: { keyId: "" } }), "its key ID must have 1 to 1024 bytes"],
    ["with a long key ID", changed({ dataKey: { keyId: "x".repeat(1025) } }), "its key ID must have"],
    ["without a data key", changed({ dataKey: { ciphertext: Buffer.alloc(0) } }), "its encrypted data key"],
    ["with a long data key", changed({ dataKey: { ciphertext: Buffer.alloc(1025) } }), "not 1025"],
    ["with an annotation without a domain", annotation("name", 1), "is not a domain name"],
    ["with large annotations", annotation("a.b", 33_000), "its annotations have 33003 bytes"],
    ["that does not fit its data key", changed({}), "its data key does not decrypt it"],
  ])("%s", async (_name, body, reason) => {
    const t = new ProviderTest();
    expect(await t.provider.open(body, CONTEXT)).toEqual(expect.stringContaining(reason));
  });
});

describe("a plugin that returns a wrong data key", () => {
  test.each([
    ["another seed", DATA_KEY_TYPE.derivedKeySeed, randomBytes(32)],
    ["no seed", DATA_KEY_TYPE.derivedKeySeed, Buffer.alloc(0)],
    ["a huge seed", DATA_KEY_TYPE.derivedKeySeed, Buffer.alloc(1_000_000)],
    ["another key", DATA_KEY_TYPE.aesGcmKey, randomBytes(32)],
    ["a key of another length", DATA_KEY_TYPE.aesGcmKey, randomBytes(31)],
  ])("%s, gets the call again until it returns the right one", async (_name, type, wrong) => {
    const t = new ProviderTest();
    await t.checked();
    const body = await t.foreign(type);
    t.answer = wrong;
    expect(await t.provider.open(body, CONTEXT)).toContain("decrypt");
    await t.checked();
    expect(await t.provider.open(body, CONTEXT)).toContain("decrypt");
    t.answer = undefined;
    t.clock.advance(20_000);
    expect(t.readable).toBe(0);
    await t.checked();
    expect(t.readable).toBe(1);
    expect(await t.provider.open(body, CONTEXT)).toMatchObject({ value: PLAIN });
  });

  test("is not suspected if the data key has decrypted another value", async () => {
    const t = new ProviderTest();
    await t.checked();
    const body = await t.foreign();
    expect(await t.provider.open(body, CONTEXT)).toMatchObject({ value: PLAIN });
    const copied = Buffer.from("/registry/secrets/default/copied");
    for (let reads = 0; reads < 3; reads++) {
      expect(await t.provider.open(body, copied)).toContain("its data key does not decrypt it");
      await t.checked();
    }
    expect(t.service.calls.filter((call) => call === "Decrypt")).toHaveLength(1);
    expect(t.readable).toBe(0);
  });
});

test("a value whose data key is being decrypted waits for it, although the plugin does not respond for another one", async () => {
  const t = new ProviderTest();
  await t.checked();
  const [slow, late] = [await t.foreign(), await t.foreign()];
  const calls: (() => void)[] = [];
  t.held = () => new Promise((resolve) => calls.push(resolve));
  const never = t.provider.open(slow, CONTEXT);
  t.clock.advance(1_500);
  const one = t.provider.open(late, CONTEXT);
  t.clock.advance(500);
  expect(await never).toContain("has not decrypted its data key within 2000 ms");
  const other = t.provider.open(late, CONTEXT);
  expect(await t.provider.open(await t.foreign(), CONTEXT)).toContain("has not decrypted its data key");
  calls[1]?.();
  expect(await Promise.all([one, other])).toMatchObject([{ value: PLAIN }, { value: PLAIN }]);
  expect(calls).toHaveLength(2);
});

describe("a plugin is unhealthy", () => {
  test.each<[string, Changes, string]>([
    ["if it reports a reason", { status: { healthz: "no key" } }, 'it reports "no key"'],
    ["with another version of the API", { status: { version: "v1" } }, "another version of the API than v2"],
    ["without a key ID", { status: { keyId: "" } }, "no usable key ID"],
    ["with a key ID that it does not use", { status: { keyId: "other" } }, "another key ID than its status"],
    ["if its data keys are too long", { encrypted: { ciphertext: Buffer.alloc(2_000) } }, "cannot be used"],
  ])("%s", async (_name, changes, problem) => {
    const t = new ProviderTest();
    t.changes = changes;
    await t.provider.check();
    expect(t.provider.problem).toContain(problem);
  });

  test("whose version of the API changes", async () => {
    const t = new ProviderTest();
    await t.provider.check();
    expect(t.provider.problem).toBeUndefined();
    t.changes = { status: { version: "v2beta1" } };
    await t.provider.check();
    expect(t.provider.problem).toContain("has changed");
  });

  test("but keeps its data key while its status has the same key ID", async () => {
    const t = new ProviderTest();
    await t.provider.check();
    const { current } = t.provider;
    t.changes = { encrypted: { ciphertext: Buffer.alloc(0) } };
    t.service.keyId = "key-2";
    await t.provider.check();
    expect([t.provider.current, t.provider.problem]).toEqual([current, expect.stringContaining("cannot be used")]);
    expect(() => t.provider.seal(PLAIN, CONTEXT)).not.toThrow();
    t.clock.advance(3 * 60_000 + 1);
    expect(() => t.provider.seal(PLAIN, CONTEXT)).toThrow("has not confirmed its key for 180 s");
  });
});
