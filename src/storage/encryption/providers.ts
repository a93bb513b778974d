/**
 * The encryption providers of one resource, in the order of the configuration. The first one encrypts what is written;
 * all of them decrypt what is read.
 */
import type { Sealing } from "../kv.ts";
import type { Cipher } from "./ciphers.ts";

/** A key with which values are encrypted and decrypted, on this machine or by a KMS plugin. */
export interface SealingKey {
  /** The beginning of its values, which names the provider and the key. */
  readonly header: string;
  /** `sealedBy` of the values that are written now; undefined if none can be written. */
  readonly current: string | undefined;
  /** Whether it can decrypt a value with this `sealedBy`. */
  reads(sealedBy: string): boolean;
  /** Throws a `StorageError` if the key cannot be used now. */
  seal(plain: Buffer, context: Buffer): Sealed;
  /**
   * Decrypts the bytes after the header, or returns the rest of a sentence about why it cannot. A promise only if
   * another process must be asked; it does not reject.
   */
  open(body: Buffer, context: Buffer): Unsealed | Promise<Unsealed>;
}

export interface Sealed {
  /** The bytes after the header. */
  readonly body: Buffer;
  readonly sealing: Sealing;
}

export type Unsealed = Opened | string;

export interface Opened {
  /** The value in clear; the stored value if it cannot be decrypted. */
  readonly value: Buffer;
  readonly sealing: Sealing;
}

const ENCRYPTED = Buffer.from("k8s:enc:");
const IN_CLEAR: Sealing = { sealedBy: "", problem: undefined };
/** Longer names are truncated in messages: a value in the store may begin with anything. */
const NAME_CHARACTERS_MAX = 64;
const NOT_FITTING = "and that key of the encryption configuration does not decrypt it";

/** Whether a stored value is encrypted by any provider of kube-apiserver. */
export function isEncrypted(value: Buffer): boolean {
  return startsWith(value, ENCRYPTED);
}

function startsWith(value: Buffer, start: Buffer): boolean {
  return value.length >= start.length && value.compare(start, 0, start.length, 0, start.length) === 0;
}

interface LocalKey {
  readonly kind: string;
  readonly name: string;
  readonly cipher: Cipher;
  /** Differs from that of other keys with the same name. */
  readonly fingerprint: string;
}

/** The key of a local provider. */
export function localKey({ kind, name, cipher, fingerprint }: LocalKey): SealingKey {
  const header = `k8s:enc:${kind}:v1:${name}:`;
  const sealing: Sealing = { sealedBy: header + fingerprint, problem: undefined };
  return {
    header,
    current: sealing.sealedBy,
    reads: (sealedBy) => sealedBy === sealing.sealedBy,
    seal: (plain, context) => ({ body: cipher.encrypt(plain, context), sealing }),
    open(body, context) {
      try {
        return { value: cipher.decrypt(body, context), sealing };
      } catch {
        // The error says nothing more than that the key does not fit.
        return NOT_FITTING;
      }
    },
  };
}

interface Candidate {
  readonly header: Buffer;
  readonly key: SealingKey;
}

export class ResourceProviders {
  readonly #candidates: readonly Candidate[];
  readonly #readsClear: boolean;
  /** Undefined if values are written in clear. */
  readonly #writer: Candidate | undefined;

  /** The keys of each provider, in order; "identity" for the provider that stores values in clear. */
  constructor(providers: readonly (readonly SealingKey[] | "identity")[]) {
    const candidates = providers.map((keys) =>
      keys === "identity" ? [] : keys.map((key) => ({ header: Buffer.from(key.header), key })),
    );
    this.#candidates = candidates.flat();
    this.#writer = candidates[0]?.[0];
    this.#readsClear = providers.includes("identity");
  }

  /** Whether a value must be rewritten even if it does not change, because it was not encrypted with the first key. */
  isOutdated({ sealedBy }: Sealing): boolean {
    if (this.#writer === undefined) return sealedBy !== "";
    const { current } = this.#writer.key;
    return current !== undefined && current !== sealedBy;
  }

  /** Whether the configuration has the key of a value that was decrypted earlier. */
  reads({ sealedBy }: Sealing): boolean {
    return sealedBy === "" ? this.#readsClear : this.#candidates.some(({ key }) => key.reads(sealedBy));
  }

  /** As kubernetes, for metrics: the header without the name of a local key. */
  get writePrefix(): string {
    return this.#writer === undefined ? "" : prefixOf(this.#writer.key.header);
  }

  readPrefix(value: Buffer): string {
    if (!isEncrypted(value)) return this.#readsClear ? "identity" : "unknown";
    const found = this.#candidates.find(({ header }) => startsWith(value, header));
    return found === undefined ? "unknown" : prefixOf(found.key.header);
  }

  /** Throws a `StorageError` if the first provider cannot encrypt. Undefined if values are written in clear. */
  seal(plain: Buffer, key: string): Opened | undefined {
    if (this.#writer === undefined) return undefined;
    const { body, sealing } = this.#writer.key.seal(plain, Buffer.from(key));
    return { value: Buffer.concat([this.#writer.header, body]), sealing };
  }

  /** A promise, which does not reject, only if another process must decrypt the data key of the value. */
  open(value: Buffer, key: string): Opened | Promise<Opened> {
    if (!isEncrypted(value)) return this.#readsClear ? { value, sealing: IN_CLEAR } : unreadable(value, NOT_ALLOWED);
    const context = Buffer.from(key);
    let problem = "which the encryption configuration does not have for this resource";
    // Several local keys may have the same name, for example while a key is replaced by one in another entry.
    for (const { header, key: candidate } of this.#candidates) {
      if (!startsWith(value, header)) continue;
      const unsealed = candidate.open(value.subarray(header.length), context);
      // The names of KMS plugins are unique, so there is no other candidate.
      if (unsealed instanceof Promise) return unsealed.then((late) => asOpened(value, late));
      if (typeof unsealed !== "string") return unsealed;
      problem = unsealed;
    }
    return asOpened(value, problem);
  }
}

function prefixOf(header: string): string {
  return header.startsWith("k8s:enc:kms:") ? header : header.split(":", 4).join(":") + ":";
}

const NOT_ALLOWED =
  "the value is not encrypted, and the encryption configuration has no identity provider for this resource";

/** The value of a resource for which nothing is configured. */
export function withoutProviders(value: Buffer): Opened {
  if (!isEncrypted(value)) return { value, sealing: IN_CLEAR };
  return asOpened(value, "and no encryption is configured for this resource");
}

function asOpened(value: Buffer, unsealed: Unsealed): Opened {
  if (typeof unsealed !== "string") return unsealed;
  const [, , provider = "", , key = ""] = value.toString("latin1", 0, HEADER_BYTES_MAX).split(":", 5);
  return unreadable(value, `the value is encrypted by ${quoted(provider)} with the key ${quoted(key)}, ${unsealed}`);
}

function unreadable(value: Buffer, problem: string): Opened {
  return { value, sealing: { sealedBy: "", problem } };
}

/** The part of a value in which messages look for the names of the provider and the key. */
const HEADER_BYTES_MAX = 512;

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, NAME_CHARACTERS_MAX));
}
