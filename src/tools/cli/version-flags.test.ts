import { expect, test } from "vitest";
import { versionLine, versionRequest } from "./version-flags.ts";

test.each([
  [undefined, undefined],
  ["false", undefined],
  ["true", "print"],
  ["raw", "print"],
  ["v1.36.4-custom.1+a", { reported: "v1.36.4-custom.1+a" }],
])("--version=%s is understood as kube-apiserver does", (version, request) => {
  expect(versionRequest({ release: "1.36", ...(version === undefined ? {} : { version }) })).toEqual(request);
});

test.each(["v1.35.0", "1.36.0", "v1.36", "newest", ""])("--version=%s is rejected by a server of 1.36", (version) => {
  expect(() => versionRequest({ release: "1.36", version })).toThrow(
    `--version=${version} must be true, false, raw or a version of release 1.36`,
  );
});

test("--version prints the version that the server reports", () => {
  expect(versionLine({ release: "1.35" })).toMatch(/^Kubernetes v1\.35\.\d+\+evenkeel$/);
});
