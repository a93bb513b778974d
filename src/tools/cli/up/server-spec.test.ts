import { expect, test } from "vitest";
import { parseServerSpec } from "./server-spec.ts";

test("a server spec is a release with an optional runtime config", () => {
  const text = "1.36+batch/v1=false+api/beta=true";
  expect(parseServerSpec(` ${text}`)).toEqual({
    text,
    release: "1.36",
    runtimeConfig: ["batch/v1=false", "api/beta=true"],
  });
});

test.each([
  ["1.99", {}, /^server 1\.99: the release must be one of/],
  ["1.36+", {}, /is not a server spec/],
  ["1.36", { storage: { kind: "etcd", endpoints: ["etcd-1"] } }, /^server 1\.36: etcd endpoint "etcd-1" is not a URL/],
] as const)("%s with %j is rejected in one sentence, before any server starts", (text, common, sentence) => {
  expect(() => parseServerSpec(text, common)).toThrow(sentence);
});
