/** The ID of a server: the name of its identity lease and of its endpoint record. */
import { createHash } from "node:crypto";

const COMPONENT = "kube-apiserver";
const DIGEST_BYTES = 16;
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/**
 * Computes the ID from the hostname, as kube-apiserver does. Servers of one component on one host need different
 * hostnames.
 */
export function serverId(hostname: string, component: string = COMPONENT): string {
  const hash = createHash("sha256");
  for (const text of [hostname, component]) {
    const bytes = Buffer.from(text);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return `apiserver-${base32(hash.digest().subarray(0, DIGEST_BYTES))}`;
}

function base32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += BASE32.charAt((held >>> (bits - 5)) & 31);
    held &= 0xff;
  }
  return bits === 0 ? text : text + BASE32.charAt((held << (5 - bits)) & 31);
}
