import { expect, test } from "vitest";
import { parseServerSpec } from "./server-spec.ts";

test("a server is a release, with runtime config of its own if need be", () => {
  const text = "1.36+batch/v1=false+api/beta=true";
  expect(parseServerSpec(` ${text}`)).toEqual({
    text,
    release: "1.36",
    runtimeConfig: ["batch/v1=false", "api/beta=true"],
  });
});

test.each([
  ["1.99", {}, /^server 1\.99: the release must be one of/],
  ["1.36+", {}, /does not describe a server/],
  ["1.36", { storage: { kind: "etcd", endpoints: ["etcd-1"] } }, /^server 1\.36: etcd endpoint "etcd-1" is not a URL/],
] as const)("%s with %j is refused in one sentence, before anything is started", (text, common, sentence) => {
  expect(() => parseServerSpec(text, common)).toThrow(sentence);
});
