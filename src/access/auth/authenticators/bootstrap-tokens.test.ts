import { expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { bootstrapTokens } from "./bootstrap-tokens.ts";

const TOKEN = "abcdef.0123456789abcdef";
const NOW = "2030-01-01T00:00:00Z";
const DATA: Readonly<Record<string, string>> = {
  "token-id": "abcdef",
  "token-secret": "0123456789abcdef",
  "usage-bootstrap-authentication": "true",
};

function secret(data: Readonly<Record<string, string>>, rest: JsonObject = {}): JsonObject {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
  return { metadata: {}, type: "bootstrap.kubernetes.io/token", data: Object.fromEntries(encoded), ...rest };
}

function resultOf(kept: JsonObject | undefined, token = TOKEN, audiences: readonly string[] = []): unknown {
  return bootstrapTokens({
    objects: {
      get: ({ resource }, namespace, name) =>
        `${namespace}/${resource}/${name}` === "kube-system/secrets/bootstrap-token-abcdef" ? kept : undefined,
    },
    clock: { now: () => Date.parse(NOW) },
    apiAudiences: ["api"],
  })(token, audiences);
}

test("a bootstrap token authenticates as a bootstrap user in the groups of its Secret", () => {
  expect(resultOf(secret(DATA))).toEqual({
    user: { name: "system:bootstrap:abcdef", uid: "", groups: ["system:bootstrappers"], extra: {} },
    audiences: [],
  });
  const groups = "system:bootstrappers:z,system:bootstrappers:kubeadm:default-node-token";
  const kept = secret({ ...DATA, "auth-extra-groups": groups, expiration: "2030-01-01T01:00:01+01:00" });
  expect(resultOf(kept, TOKEN, ["api", "other"])).toMatchObject({
    user: {
      groups: [
        ...["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"],
        "system:bootstrappers:z",
      ],
    },
    audiences: ["api"],
  });
});

const rejected: readonly (readonly [name: string, kept: JsonObject | undefined])[] = [
  ["without a Secret", undefined],
  ["with another secret", secret({ ...DATA, "token-secret": "0123456789abcdeg" })],
  ["with a Secret of another ID", secret({ ...DATA, "token-id": "abcdeg" })],
  ["with a Secret of another type", secret(DATA, { type: "Opaque" })],
  ["with a Secret that is being deleted", secret(DATA, { metadata: { deletionTimestamp: NOW } })],
  ["with a Secret without data", secret({})],
  ["that has expired", secret({ ...DATA, expiration: NOW })],
  ["with an invalid expiration", secret({ ...DATA, expiration: "Fri, 01 Jan 2031 00:00:00 GMT" })],
  ["that is not for authentication", secret({ ...DATA, "usage-bootstrap-authentication": "yes" })],
  ["with a group of another kind", secret({ ...DATA, "auth-extra-groups": "system:masters" })],
];
test.each(rejected)("a bootstrap token %s is unknown", (_, kept) => {
  expect(resultOf(kept)).toBe("unknown");
});

test.each([
  ["for another audience", TOKEN, ["other"]],
  ["in capitals", TOKEN.toUpperCase(), []],
  ["followed by text", `${TOKEN}0`, []],
])("a bootstrap token %s is unknown", (_, token, audiences) => {
  expect(resultOf(secret(DATA), token, audiences)).toBe("unknown");
});
