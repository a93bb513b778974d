/** Reads the files that flags name. A failure is reported in one sentence that contains the file name. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { CommandFailure } from "./failure.ts";

export function readFile(file: string, what: string): string {
  return asUsable(() => readFileSync(file, "utf8"), `the ${what} ${file} cannot be read`);
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

/** Runs `work`. If it throws, the command fails with the sentence and the first line of the error message. */
export function asUsable<T>(work: () => T, sentence: string): T {
  try {
    return work();
  } catch (thrown) {
    const [reason] = (thrown instanceof Error ? thrown.message : String(thrown)).split("\n", 1);
    throw new CommandFailure(`${sentence}: ${reason}`, 1);
  }
}
