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

function problemOf(bundle: readonly Issued[], presented: readonly Issued[], now = NOW): string | undefined {
  const verify = createCertificateVerifier(bundle.map(({ pem }) => pem).join(""));
  return verify(
    presented.map(({ certificate }) => certificate),
    now,
  );
}

function isTrusted(...parameters: Parameters<typeof problemOf>): boolean {
  return problemOf(...parameters) === undefined;
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
    expect([NOW, NOW + HOUR_MS, NOW + HOUR_MS + 1].map((now) => verify(chain, now))).toEqual([
      undefined,
      undefined,
      "x509: certificate has expired or is not yet valid: current time 2030-01-01T01:00:00Z is after 2030-01-01T01:00:00Z",
    ]);
  });

  test.each<readonly [what: string, presented: Issued, problem: string]>([
    ["of another CA", issueClient(otherCa), "x509: certificate signed by unknown authority"],
    [
      "for servers",
      issueClient(ca, { usages: ["serverAuth"] }),
      "x509: certificate specifies an incompatible key usage",
    ],
    [
      "that has expired",
      issueClient(ca, { notAfter: NOW - HOUR_MS }),
      "x509: certificate has expired or is not yet valid: current time 2030-01-01T00:00:00Z is after 2029-12-31T23:00:00Z",
    ],
    [
      "that is not valid yet",
      issueClient(ca, { notBefore: NOW + HOUR_MS }),
      "x509: certificate has expired or is not yet valid: current time 2030-01-01T00:00:00Z is before 2030-01-01T01:00:00Z",
    ],
  ])("says why it rejects a certificate %s, in the words of Go", (_, presented, problem) => {
    expect(problemOf([ca], [presented])).toBe(problem);
  });

  describe("with a root of X.509 v1", () => {
    const old = issue({ subject: [["CN", "old root"]], version: 1 });
    const renamed = issue({ subject: [["CN", "not self-signed"]], issuer: ca, version: 1 });
    const forged = issue({ subject: [["CN", "old root"]], issuer: { ...ca, subject: old.subject }, version: 1 });
    const client = issueClient(old);

    test("trusts a certificate that the root has signed, if the bundle contains the root", () => {
      expect(isTrusted([otherCa, old], [client])).toBe(true);
      expect(isTrusted([old], [client, old])).toBe(true);
      expect(isTrusted([otherCa, ca], [client, old])).toBe(false);
    });

    test("trusts a certificate of an intermediate CA of the root", () => {
      const below = issueCa("below the old root", { issuer: old });
      expect(isTrusted([old], [issueClient(below), below])).toBe(true);
    });

    test("does not trust a certificate that a presented v1 certificate has signed", () => {
      const between = issue({ subject: [["CN", "between"]], issuer: old, version: 1 });
      expect(isTrusted([old], [issueClient(between), between])).toBe(false);
      expect(isTrusted([ca], [issueClient(renamed), renamed])).toBe(false);
    });

    test("does not trust a certificate that a v1 certificate of the bundle has signed, if it is not self-signed", () => {
      expect(isTrusted([renamed], [issueClient(renamed)])).toBe(false);
      expect(isTrusted([forged], [issueClient(forged)])).toBe(false);
      expect(isTrusted([renamed], [renamed])).toBe(true);
    });

    test("does not trust a certificate that a v3 certificate without basic constraints has signed", () => {
      const plain = issue({ subject: [["CN", "plain"]] });
      expect(isTrusted([plain], [issueClient(plain)])).toBe(false);
    });
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
