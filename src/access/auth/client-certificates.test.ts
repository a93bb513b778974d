import { describe, expect, test } from "vitest";
import { readPathLengthMax, readSubject } from "./certificate-reader.ts";
import { createCertificateVerifier, parseCertificates } from "./client-certificates.ts";
import {
  certificateDer,
  issue,
  issueCa,
  issueClient,
  NOW,
  type Attribute,
  type Issued,
} from "../../../test/testing/access/auth/certificates.ts";

const HOUR_MS = 3_600_000;
const ca = issueCa("the ca");
const otherCa = issueCa("another ca");

function isTrusted(bundle: readonly Issued[], presented: readonly Issued[], now = NOW): boolean {
  const verify = createCertificateVerifier(bundle.map(({ pem }) => pem).join(""));
  return verify(
    presented.map(({ certificate }) => certificate),
    now,
  );
}

describe("createCertificateVerifier", () => {
  const intermediate = issueCa("intermediate", { issuer: ca });
  const lower = issueCa("lower", { issuer: intermediate });
  const notCa = issueClient(ca, { subject: [["CN", "no ca"]] });
  const narrow = issueCa("narrow", { ca: { pathLength: 0 } });
  const belowNarrow = issueCa("below narrow", { issuer: narrow });
  const serversOnly = issueCa("servers only", { issuer: ca, usages: ["serverAuth"] });
  const pinned = issue({ subject: [["CN", "jane"]] });

  test.each<readonly [what: string, presented: readonly Issued[]]>([
    ["a certificate of the CA", [issueClient(ca)]],
    ["one that also carries the CA", [issueClient(ca), ca]],
    ["one for clients and servers", [issueClient(ca, { usages: ["serverAuth", "clientAuth"] })]],
    ["one whose use is not restricted", [issue({ subject: [["CN", "jane"]], issuer: ca })]],
    ["one of an intermediate CA that is presented too", [issueClient(intermediate), intermediate]],
    ["two intermediates in the wrong order", [issueClient(lower), intermediate, lower]],
  ])("trusts %s", (_, presented) => {
    expect(isTrusted([otherCa, ca], presented)).toBe(true);
    expect(isTrusted([otherCa], presented)).toBe(false);
  });

  test.each<readonly [what: string, presented: readonly Issued[]]>([
    ["nothing presented", []],
    ["a certificate of another CA", [issueClient(otherCa)]],
    ["an expired one", [issueClient(ca, { notAfter: NOW - HOUR_MS })]],
    ["one that is not valid yet", [issueClient(ca, { notBefore: NOW + HOUR_MS })]],
    ["one for servers only", [issueClient(ca, { usages: ["serverAuth"] })]],
    ["one of a CA for servers only", [issueClient(serversOnly), serversOnly]],
    ["one whose intermediate is missing", [issueClient(intermediate)]],
    ["one whose intermediate has expired", expiredIntermediate()],
    ["one signed by an ordinary certificate", [issueClient(notCa), notCa]],
    ["one signed by itself in the CA's name", [issueClient({ ...issueCa("the ca"), subject: ca.subject })]],
    ["a CA of the same name with another key", [issueClient(issueCa("the ca")), issueCa("the ca")]],
    ["one that is signed by itself", [issue({ subject: [["CN", "the ca"]] })]],
    ["a leaf of another CA before a trusted one", [issueClient(otherCa), issueClient(ca)]],
  ])("does not trust %s", (_, presented) => {
    expect(isTrusted([ca], presented)).toBe(false);
  });

  function expiredIntermediate(): Issued[] {
    const expired = issueCa("expired", { issuer: ca, notAfter: NOW - HOUR_MS });
    return [issueClient(expired), expired];
  }

  test("enforces the path length limit of a CA", () => {
    expect(isTrusted([narrow], [issueClient(narrow)])).toBe(true);
    expect(isTrusted([narrow], [issueClient(belowNarrow), belowNarrow])).toBe(false);
  });

  test("an intermediate CA in the bundle need not be presented", () => {
    expect(isTrusted([ca, intermediate], [issueClient(intermediate)])).toBe(true);
  });

  test("trusts a leaf certificate in the bundle, but not certificates that it signed", () => {
    expect(isTrusted([pinned], [pinned])).toBe(true);
    expect(isTrusted([pinned], [issueClient(pinned)])).toBe(false);
  });

  test("accepts a certificate of a CA that was renewed with the same key", () => {
    const old = issueCa("renewed", { notAfter: NOW - HOUR_MS });
    const renewed = issueCa("renewed", { keys: old });
    expect(isTrusted([old, renewed], [issueClient(old)])).toBe(true);
    expect(isTrusted([old], [issueClient(old)])).toBe(false);
  });

  test("stops trusting a certificate that expires during the connection", () => {
    const verify = createCertificateVerifier(ca.pem);
    const chain = [issueClient(ca, { notAfter: NOW + HOUR_MS }).certificate];
    expect([NOW, NOW + HOUR_MS, NOW + HOUR_MS + 1].map((now) => verify(chain, now))).toEqual([true, true, false]);
  });

  test("terminates for many CAs with the same name and key", () => {
    const first = issueCa("maze");
    const maze = Array.from({ length: 40 }, (_, index) =>
      issueCa("maze", { keys: first, issuer: first, notAfter: NOW + index * HOUR_MS }),
    );
    expect(isTrusted([ca], [issueClient(first), ...maze])).toBe(false);
  });

  test.each([
    ["", "the CA bundle contains no certificate"],
    ["hello", "the CA bundle contains no certificate"],
    ["-----BEGIN CERTIFICATE-----\n", "certificate 1 of the CA bundle cannot be read"],
  ])("rejects the bundle %j", (pem, sentence) => {
    expect(() => createCertificateVerifier(pem)).toThrow(sentence);
  });

  test("the error names the certificate that cannot be parsed", () => {
    const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    expect(() => createCertificateVerifier(ca.pem + broken)).toThrow("certificate 2 of the CA bundle cannot be read");
  });

  test("ignores text between the certificates of a bundle", () => {
    const names = parseCertificates(`# one\n${ca.pem}\r\n# two\r\n${otherCa.pem.replaceAll("\n", "\r\n")}`);
    expect(names.map(({ subject }) => subject)).toEqual(["CN=the ca", "CN=another ca"]);
  });
});

describe("readSubject", () => {
  const string = (tag: number, content: Buffer): Buffer => Buffer.concat([Buffer.of(tag, content.length), content]);
  const subjectOf = (...subject: readonly (Attribute | readonly Attribute[])[]): unknown =>
    readSubject(certificateDer({ subject }));

  test.each<readonly [subject: readonly (Attribute | readonly Attribute[])[], commonName: string, groups: string[]]>([
    [[], "", []],
    [[["O", "a"]], "", ["a"]],
    [
      [
        ["O", "a"],
        ["CN", "jane"],
        ["O", "b"],
      ],
      "jane",
      ["a", "b"],
    ],
    [
      [
        [
          ["O", "a"],
          ["CN", "jane"],
        ],
        ["O", "b"],
      ],
      "jane",
      ["a", "b"],
    ],
    [
      [
        ["CN", "jane"],
        ["OU", "x\nCN=admin"],
      ],
      "jane",
      [],
    ],
    [[["OU", "x\nCN=admin\nO=system:masters"]], "", []],
    [[["CN", "jane, O=system:masters"]], "jane, O=system:masters", []],
    [[["CN", "jane\nO=system:masters"]], "jane\nO=system:masters", []],
    [[["CN", "jane\0admin"]], "jane\0admin", []],
    [
      [
        ["CN", "jane"],
        ["CN", "john"],
      ],
      "john",
      [],
    ],
    [
      [
        ["CN", "Zoë 🚀"],
        ["O", "a,b"],
      ],
      "Zoë 🚀",
      ["a,b"],
    ],
    [[["CN", string(0x13, Buffer.from("printable"))]], "printable", []],
    [[["CN", string(0x14, Buffer.from("Zo\xeb", "latin1"))]], "Zoë", []],
    [[["CN", string(0x1e, Buffer.from("Zoë", "utf16le").swap16())]], "Zoë", []],
  ])("reads %j exactly", (subject, commonName, organizations) => {
    expect(subjectOf(...subject)).toEqual({ commonName, organizations });
  });

  test.each([
    ["bytes that are not UTF-8", Buffer.of(0x0c, 1, 0xeb)],
    ["an unsupported string type", string(0x1c, Buffer.from("\0\0\0a"))],
    ["half a character", string(0x1e, Buffer.of(0xd8, 0x00))],
  ])("returns undefined for a common name or organization with %s", (_, value) => {
    expect(subjectOf(["CN", value])).toBeUndefined();
    expect(subjectOf(["CN", "jane"], ["O", value])).toBeUndefined();
    expect(subjectOf(["CN", "jane"], ["OU", value])).toMatchObject({ commonName: "jane" });
  });

  test("neither throws nor loops on damaged input", () => {
    const { raw } = issueClient(ca, {
      subject: [
        ["CN", "jane"],
        ["O", "a"],
      ],
    }).certificate;
    for (let at = 0; at < raw.length; at++) {
      const damaged = Buffer.from(raw);
      damaged[at] = damaged[at]! ^ 0xff;
      expect(() => [readSubject(damaged), readPathLengthMax(damaged)]).not.toThrow();
      expect(readSubject(raw.subarray(0, at))).toBeUndefined();
    }
  });
});
