import { describe, expect, test } from "vitest";
import {
  configKeyErrors,
  domainPrefixedPathErrors,
  fullDomainErrors,
  portNameErrors,
  wildcardSubdomainErrors,
} from "./name-checks.ts";

describe("a ConfigMap key", () => {
  test.each(["a", "A.b-c_d", ".a", "-"])("%s is accepted", (key) => {
    expect(configKeyErrors(key)).toEqual([]);
  });

  test.each([
    [".", "must not be '.'"],
    ["..", "must not be '..'"],
    ["..a", "must not start with '..'"],
    ["a".repeat(254), "must be no more than 253 characters"],
  ])("%s is rejected", (key, sentence) => {
    expect(configKeyErrors(key)).toEqual([sentence]);
  });
});

test.each([
  ["http", []],
  ["8080", ["must contain at least one letter (a-z)"]],
  ["-a", ["must not begin or end with a hyphen"]],
  ["a--b", ["must not contain consecutive hyphens"]],
  [
    "A",
    [
      "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
      "must contain at least one letter (a-z)",
    ],
  ],
  ["a".repeat(16), ["must be no more than 15 characters"]],
])("the port name %s has the errors %j", (name, sentences) => {
  expect(portNameErrors(name)).toEqual(sentences);
});

test("a wildcard subdomain is a star and a dot before a domain", () => {
  expect(wildcardSubdomainErrors("*.example.com")).toEqual([]);
  for (const name of ["*", "*.", "a.*", "*.*.com"]) expect(wildcardSubdomainErrors(name)).toHaveLength(1);
  expect(wildcardSubdomainErrors(`*.${"a".repeat(252)}`)).toEqual(["must be no more than 253 characters"]);
});

test.each([
  ["", ["Required value"]],
  ["example.com/x", []],
  ["example.com", ['Invalid value: "example.com": must be a domain-prefixed path (such as "acme.io/foo")']],
  ["example.com/", ['Invalid value: "example.com/": must be a domain-prefixed path (such as "acme.io/foo")']],
  [
    "example.com/ ",
    [String.raw`Invalid value: " ": Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')`],
  ],
])("the domain-prefixed path %s has the errors %j", (value, expected) => {
  expect([...domainPrefixedPathErrors(value, "f")].map(({ message }) => message)).toEqual(expected);
});

test.each([
  ["example.com.", []],
  ["", ["Required value"]],
  ["example", ['Invalid value: "example": should be a domain with at least two segments separated by dots']],
])("the domain %s has the errors %j", (value, expected) => {
  expect([...fullDomainErrors(value, "f")].map(({ message }) => message)).toEqual(expected);
});
