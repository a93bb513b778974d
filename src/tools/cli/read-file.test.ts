import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createAuthority } from "../../serving/http/node/certificate-authority.ts";
import { asUsable, readBoundedFile, readCertificates } from "./read-file.ts";

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

describe("a file with a limit", () => {
  const read = (path: string): string => readBoundedFile(path, "encryption configuration", 4);

  test("is read up to the limit, and then rejected without being read to its end", () => {
    expect(read(file("four", "\u00e9ab"))).toBe("\u00e9ab");
    expect(read(file("none", ""))).toBe("");
    const five = file("five", "abcde");
    expect(() => read(five)).toThrow(`the encryption configuration ${five} cannot be read: it has more than 4 bytes`);
    expect(() => read("/dev/zero")).toThrow("it has more than 4 bytes");
  });

  test("is read through a link that was replaced, as the kubelet replaces the files of a Secret", () => {
    const [before, after] = [file("before", "a"), file("after", "b")];
    const [link, next] = [join(directory, "link"), join(directory, "next")];
    symlinkSync(before, link);
    expect(read(link)).toBe("a");
    symlinkSync(after, next);
    renameSync(next, link);
    expect(read(link)).toBe("b");
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
