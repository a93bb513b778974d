/** Reads the files that flags name. A failure is reported in one sentence that contains the file name. */
import { X509Certificate } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { CommandFailure } from "./failure.ts";

export function readFile(file: string, what: string): string {
  return asUsable(() => readFileSync(file, "utf8"), `the ${what} ${file} cannot be read`);
}

/** As `readFile`, for a file that a running server reloads: a larger file costs neither time nor memory. */
export function readBoundedFile(file: string, what: string, bytesMax: number): string {
  return asUsable(() => {
    const buffer = Buffer.allocUnsafe(bytesMax + 1);
    const descriptor = openSync(file, "r");
    try {
      let length = 0;
      for (let read = -1; read !== 0 && length <= bytesMax; length += read)
        read = readSync(descriptor, buffer, length, buffer.length - length, null);
      if (length > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
      return buffer.toString("utf8", 0, length);
    } finally {
      closeSync(descriptor);
    }
  }, `the ${what} ${file} cannot be read`);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?(?:-----END CERTIFICATE-----|$)/gs;

/** Returns the text of a PEM bundle. It must contain at least one certificate and no invalid one. */
export function readCertificates(file: string, what: string): string {
  const text = readFile(file, what);
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new CommandFailure(`the ${what} ${file} contains no certificate`, 1);
  for (const block of blocks) asUsable(() => new X509Certificate(block), `the ${what} ${file} cannot be used`);
  return text;
}

interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads the certificate and the key that two flags name, and checks that they belong together. Undefined if neither
 * flag is set. `pair` has the flag and the file of the certificate, then those of the key.
 */
export function checkKeyPair(what: string, pair: Readonly<Record<string, string | undefined>>): KeyPair | undefined {
  const [certFlag = "", keyFlag = ""] = Object.keys(pair);
  const { [certFlag]: certFile, [keyFlag]: keyFile } = pair;
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined)
    throw new CommandFailure(`${certFlag} and ${keyFlag} must be given together`, 2);
  const cert = readFile(certFile, `${what} certificate (${certFlag})`);
  const key = readFile(keyFile, `${what} key (${keyFlag})`);
  asUsable(
    () => createSecureContext({ cert, key }),
    `the ${what} certificate ${certFile} (${certFlag}) and its key ${keyFile} (${keyFlag}) cannot be used`,
  );
  return { cert, key };
}

/** Runs `work`. If it throws, the command fails with the sentence and the first line of the error message. */
export function asUsable<T>(work: () => T, sentence: string): T {
  try {
    return work();
  } catch (thrown) {
    const [reason] = (thrown instanceof Error ? thrown.message : String(thrown)).split("\n", 1);
    // The sentence has the path with which the messages of the operating system end.
    throw new CommandFailure(`${sentence}: ${reason?.replace(/^(E[A-Z]+: .*), \w+ '.*'$/, "$1")}`, 1);
  }
}
