import { expect, test } from "vitest";
import { createServingCertificate } from "../../../serving/http/node/serving-certificate.ts";
import { namedCertificates } from "./serving-tls.ts";

function made(commonName: string, ...hosts: readonly string[]): readonly [cert: string, key: string] {
  const { certPem, keyPem } = createServingCertificate({ commonName, hosts, nowMs: Date.now() });
  return [certPem, keyPem];
}

const FILES = { certFile: "", keyFile: "" };

test("a certificate without names is used for the names that it contains, after those that are set explicitly", () => {
  const [first, second] = [made("one.example", "a.example", "*.b.example", "10.0.0.1"), made("two.example")];
  const pairs = namedCertificates(
    [
      { ...FILES, names: [] },
      { ...FILES, names: ["a.example"] },
    ],
    [...first, ...second],
  );
  expect(pairs).toMatchObject([
    { names: ["a.example"], cert: second[0], key: second[1] },
    { names: ["one.example", "a.example", "*.b.example"], cert: first[0], key: first[1] },
  ]);
});

test("a key of another certificate is rejected", () => {
  const [cert] = made("one.example");
  const [, key] = made("two.example");
  expect(() => namedCertificates([{ ...FILES, names: ["a"] }], [cert, key])).toThrow("key values mismatch");
});
