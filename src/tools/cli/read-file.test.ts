import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createAuthority } from "../../serving/http/node/certificate-authority.ts";
import { asUsable, readCertificates } from "./read-file.ts";

const directory = mkdtempSync(join(tmpdir(), "evenkeel-read-file-"));
afterAll(() => rmSync(directory, { recursive: true }));

const { certPem, keyPem } = createAuthority({ commonName: "ca", nowMs: Date.now() });

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

describe("a file of certificates", () => {
  test("may contain several, and other text beside them", () => {
    const text = `of last year\n${certPem}${keyPem}${certPem}`;
    expect(readCertificates(file("two", text), "client CA")).toBe(text);
  });

  test.each([
    ["absent", undefined, "the client CA FILE cannot be read: ENOENT"],
    ["empty", "", "the client CA FILE contains no certificate"],
    ["a key", keyPem, "the client CA FILE contains no certificate"],
    ["cut off", certPem.slice(0, 200), "the client CA FILE cannot be used: "],
    ["invalid after a valid one", `${certPem}-----BEGIN CERTIFICATE-----\nx\n`, "the client CA FILE cannot be used: "],
  ])("that is %s fails the command with one sentence that contains the file name", (name, text, sentence) => {
    const path = text === undefined ? join(directory, name) : file(name, text);
    expect(() => readCertificates(path, "client CA")).toThrow(sentence.replace("FILE", path));
  });
});

test("only the first line of the reason for a failure is reported", () => {
  const work = (): never => {
    throw new Error("deficient indentation (2:1)\n\n 1 | a: [");
  };
  expect(() => asUsable(work, "the audit policy cannot be used")).toThrow(
    /^the audit policy cannot be used: deficient indentation \(2:1\)$/,
  );
});
