/** Who a server is to others: the name of its identity lease and of its endpoint record. */
import { createHash } from "node:crypto";
import { dnsSubdomainErrors, labelValueErrors } from "../meta/names.ts";

const COMPONENT = "kube-apiserver";
const DIGEST_BYTES = 16;
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** As kube-apiserver computes it from its host's name. Servers on one host need another name each. */
export function serverId(hostname: string): string {
  const hash = createHash("sha256");
  for (const text of [hostname, COMPONENT]) {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return `apiserver-${base32(hash.digest().subarray(0, DIGEST_BYTES))}`;
}

/** What is wrong with an ID somebody chose: it becomes the name of an object and the value of a label. */
export function serverIdErrors(id: string): string[] {
  if (id === "") return ["must not be empty"];
  return [...new Set([...dnsSubdomainErrors(id), ...labelValueErrors(id)])];
}

function base32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += BASE32[(held >>> (bits - 5)) & 31]!;
    held &= 0xff;
  }
  return bits === 0 ? text : text + BASE32[(held << (5 - bits)) & 31]!;
}
