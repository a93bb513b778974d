import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { CONFIG_MAP } from "./config-map.ts";
import { SECRET } from "./secret.ts";
import {
  defaulted,
  createErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("a ConfigMap", () => {
  test("needs keys that are valid file names and unique across data and binaryData", () => {
    expect(createErrorsOf(CONFIG_MAP, { data: { "..": "", a: "" }, binaryData: { a: "" } })).toEqual([
      `data[..]: Invalid value: "..": must not be '..'`,
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    ]);
  });

  test("holds at most one mebibyte of data", () => {
    const half = "a".repeat(512 * 1024);
    expect(createErrorsOf(CONFIG_MAP, { data: { a: half }, binaryData: { b: base64(half) } })).toEqual([]);
    expect(createErrorsOf(CONFIG_MAP, { data: { a: `${half}a` }, binaryData: { b: base64(half) } })).toEqual([
      "[]: Too long: may not be more than 1048576 bytes",
    ]);
  });

  test("that is immutable rejects changes of its data", () => {
    const before = { immutable: true, data: { a: "1" } };
    expect(updateErrorsOf(CONFIG_MAP, before, before)).toEqual([]);
    expect(updateErrorsOf(CONFIG_MAP, before, { data: { a: "2" }, binaryData: { b: "" } })).toEqual([
      "immutable: Forbidden: field is immutable when `immutable` is set",
      "data: Forbidden: field is immutable when `immutable` is set",
      "binaryData: Forbidden: field is immutable when `immutable` is set",
    ]);
  });
});

describe("a Secret", () => {
  test("defaults its type to Opaque and merges stringData into data", () => {
    expect(defaulted(SECRET, { stringData: { a: "x" }, data: { b: "eQ==" } })).toEqual({
      type: "Opaque",
      data: { a: "eA==", b: "eQ==" },
    });
  });

  test.each<[string, JsonObject, string[]]>([
    ["tls", {}, ["data[tls.crt]: Required value", "data[tls.key]: Required value"]],
    ["ssh-auth", { "ssh-privatekey": "" }, ["data[ssh-privatekey]: Required value"]],
    ["basic-auth", {}, ["data[username]: Required value", "data[password]: Required value"]],
    ["basic-auth", { password: "" }, []],
    ["dockercfg", {}, ["data[.dockercfg]: Required value"]],
    ["dockercfg", { ".dockercfg": base64("{}") }, []],
    ["dockerconfigjson", { ".dockerconfigjson": base64("null") }, []],
    [
      "dockerconfigjson",
      { ".dockerconfigjson": "" },
      ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": unexpected end of JSON input'],
    ],
    [
      "dockerconfigjson",
      { ".dockerconfigjson": base64("[]") },
      [
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
      ],
    ],
    ["service-account-token", {}, ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]],
    ["something-else", {}, []],
  ])("of type %s with %j has the expected errors", (type, data, expected) => {
    expect(createErrorsOf(SECRET, { type: `kubernetes.io/${type}`, data })).toEqual(expected);
  });

  test("of type service-account-token needs the annotation with the name of the account", () => {
    const metadata = { annotations: { "kubernetes.io/service-account.name": "a" } };
    expect(createErrorsOf(SECRET, { type: "kubernetes.io/service-account-token", metadata })).toEqual([]);
  });

  test("cannot change its type", () => {
    expect(updateErrorsOf(SECRET, { type: "a" }, { type: "b" })).toEqual([
      'type: Invalid value: "b": field is immutable',
    ]);
  });
});

describe("the certificate and key of a TLS Secret", () => {
  const pem = (type: string): string => base64(`-----BEGIN ${type}-----\nAA==\n-----END ${type}-----\n`);
  const warnings = (certificate: string, key: string): string[] =>
    warningsOf(SECRET, { type: "kubernetes.io/tls", data: { "tls.crt": certificate, "tls.key": key } });

  test.each([
    ["", "", ["tls: failed to find any PEM data in certificate input"]],
    [pem("CERTIFICATE"), "", ["tls: failed to find any PEM data in key input"]],
    [pem("CERTIFICATE"), pem("EC PRIVATE KEY"), []],
    [
      pem("PRIVATE KEY"),
      pem("CERTIFICATE"),
      [
        "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
      ],
    ],
    [
      pem("CERTIFICATE"),
      pem("CERTIFICATE"),
      ["tls: found a certificate rather than a key in the PEM for the private key"],
    ],
    [
      pem("X"),
      pem("Y"),
      [
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [X]',
      ],
    ],
  ])("cause warnings if they are not valid PEM (%#)", (certificate, key, expected) => {
    expect(warnings(certificate, key)).toEqual(expected);
  });

  test("are scanned in linear time, even if the PEM is malformed", () => {
    const odd = base64("-----BEGIN x-----END ".repeat(40_000));
    expect(warnings(odd, odd)).toHaveLength(1);
  });
});
