/**
 * The work of a KMS plugin for tests: encrypts data keys with keys that never leave it. Rotating makes a new key; a
 * retired key decrypts nothing any more.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import type { EncryptedDataKey, KmsStatus } from "../../../../src/storage/encryption/kms/messages.ts";

const ANNOTATION = "version.kms.example.com";

export class KeyService {
  /** The key with which data keys are encrypted now. */
  keyId: string;
  healthz = "ok";
  readonly retired = new Set<string>();
  readonly calls: string[] = [];

  constructor(keyId = "key-1") {
    this.keyId = keyId;
  }

  status(): KmsStatus {
    this.calls.push("Status");
    return { version: "v2", healthz: this.healthz, keyId: this.keyId };
  }

  encrypt(plaintext: Buffer): EncryptedDataKey {
    this.calls.push("Encrypt");
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", secretOf(this.keyId), nonce);
    const ciphertext = Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
    return { ciphertext, keyId: this.keyId, annotations: new Map([[ANNOTATION, Buffer.from("1")]]) };
  }

  /** Throws if the key is retired, or does not fit. */
  decrypt({ ciphertext, keyId, annotations }: EncryptedDataKey): Buffer {
    this.calls.push("Decrypt");
    if (this.retired.has(keyId)) throw new Error(`the key ${keyId} is retired`);
    if (annotations.get(ANNOTATION)?.toString() !== "1") throw new Error("the annotation is missing");
    const decipher = createDecipheriv("aes-256-gcm", secretOf(keyId), ciphertext.subarray(0, 12));
    decipher.setAuthTag(ciphertext.subarray(-16));
    return Buffer.concat([decipher.update(ciphertext.subarray(12, -16)), decipher.final()]);
  }
}

/** The same in every process, so that a plugin that is started again decrypts what it has encrypted before. */
function secretOf(keyId: string): Buffer {
  return createHash("sha256").update(`secret of ${keyId}`).digest();
}
