/** The rules for encrypted data keys, whether they come from a plugin or from the store. */
import { dnsSubdomainErrors } from "../../../meta/names.ts";
import { messageOf } from "../../../base/within.ts";
import { ANNOTATIONS_BYTES_MAX, DATA_KEY_BYTES_MAX, KEY_ID_BYTES_MAX, PROBLEM_CHARACTERS_MAX } from "./kms-limits.ts";
import type { EncryptedDataKey } from "./messages.ts";

type KeyIdProblem = "empty" | "too_long";

export function keyIdProblem(keyId: string): KeyIdProblem | undefined {
  if (keyId === "") return "empty";
  return Buffer.byteLength(keyId) > KEY_ID_BYTES_MAX ? "too_long" : undefined;
}

/** Why a data key cannot be used, as the rest of a sentence; undefined if it can. */
export function dataKeyProblem({ ciphertext, keyId, annotations }: EncryptedDataKey): string | undefined {
  if (keyIdProblem(keyId) !== undefined) return `its key ID must have 1 to ${KEY_ID_BYTES_MAX} bytes`;
  if (ciphertext.length === 0 || ciphertext.length > DATA_KEY_BYTES_MAX)
    return `its encrypted data key must have 1 to ${DATA_KEY_BYTES_MAX} bytes, not ${ciphertext.length}`;
  let bytes = 0;
  for (const [name, value] of annotations) {
    if (!isFullyQualified(name)) return "the name of an annotation is not a domain name with at least two parts";
    bytes += Buffer.byteLength(name) + value.length;
  }
  return bytes > ANNOTATIONS_BYTES_MAX
    ? `its annotations have ${bytes} bytes; the limit is ${ANNOTATIONS_BYTES_MAX}`
    : undefined;
}

function isFullyQualified(name: string): boolean {
  const domain = name.replace(/\.$/, "");
  return domain.includes(".") && dnsSubdomainErrors(domain).length === 0;
}

/** Identifies a data key among all data keys of a plugin. */
export function dataKeyId(type: number, { ciphertext, keyId, annotations }: EncryptedDataKey): string {
  const sorted = [...annotations].sort(([left], [right]) => (left < right ? -1 : 1));
  return JSON.stringify([
    type,
    ciphertext.toString("latin1"),
    keyId,
    ...sorted.map(([name, value]) => [name, value.toString("latin1")]),
  ]);
}

/** The message of a plugin or of its connection, for errors and logs. */
export function problemOf(thrown: unknown): string {
  return messageOf(thrown).slice(0, PROBLEM_CHARACTERS_MAX);
}
