import { describe, expect, test } from "vitest";
import { parseEncryptionConfig } from "./encryption-config.ts";

const SECRET = Buffer.alloc(32, 9).toString("base64");
const AES = { aesgcm: { keys: [{ name: "one", secret: SECRET }] } };
const IDENTITY = { identity: {} };

function file(...resources: readonly unknown[]): object {
  return { apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration", resources };
}

const KMS = { kms: { apiVersion: "v2", name: "k", endpoint: "unix:///run/kms.sock" } };

function plugin(fields: object): object {
  return file(entry(["secrets"], { kms: { ...KMS.kms, ...fields } }));
}

function entry(resources: readonly unknown[], ...providers: readonly unknown[]): object {
  return { resources, providers };
}

function problemsOf(value: unknown): readonly string[] {
  const parsed = parseEncryptionConfig(value);
  return parsed.isValid ? [] : parsed.problems;
}

function keyed(key: unknown): object {
  return file(entry(["secrets"], { aescbc: { keys: [key] } }));
}

test("a valid file has the providers of each resource, in their order, also from several entries", () => {
  const parsed = parseEncryptionConfig(
    file(entry(["secrets", "widgets.example.com"], AES), entry(["secrets"], IDENTITY), entry(["*.*"], IDENTITY, AES)),
  );
  if (!parsed.isValid) throw new Error(parsed.problems.join(" "));
  const kinds = [...parsed.config].map(([name, providers]) => [name, providers.map(({ kind }) => kind)]);
  expect(Object.fromEntries(kinds)).toEqual({
    secrets: ["aesgcm", "identity"],
    "widgets.example.com": ["aesgcm"],
    "*.*": ["identity", "aesgcm"],
  });
});

const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["no object", [], "The file must contain one EncryptionConfiguration."],
  ["another kind", { ...file(entry(["secrets"], IDENTITY)), kind: "Secret" }, "kind must be EncryptionConfiguration."],
  [
    "another version",
    { ...file(entry(["secrets"], IDENTITY)), apiVersion: "v1" },
    "apiVersion must be apiserver.config.k8s.io/v1.",
  ],
  [
    "an unknown field",
    { ...file(entry(["secrets"], IDENTITY)), keys: [] },
    "keys is not a field of EncryptionConfiguration.",
  ],
  ["no resources", file(), "resources must have at least one element."],
  ["an entry without resources", file(entry([], IDENTITY)), "resources[0].resources must have at least one element."],
  ["an entry without providers", file(entry(["secrets"])), "resources[0].providers must have at least one element."],
  ["a resource twice", file(entry(["secrets", "secrets"], IDENTITY)), "resources[0].resources names a resource twice."],
  [
    "an overlap",
    file(entry(["secrets", "*."], IDENTITY)),
    "resources[0].resources must not name a resource together with a wildcard that includes it.",
  ],
  [
    "a masked resource",
    file(entry(["*.*"], IDENTITY), entry(["secrets"], IDENTITY)),
    "resources[1].resources: secrets is included in *.* of an earlier entry.",
  ],
  [
    "a resource masked by its group",
    file(entry(["*.apps"], IDENTITY), entry(["deployments.apps"], IDENTITY)),
    "resources[1].resources: deployments.apps is included in *.apps of an earlier entry.",
  ],
  [
    "capital letters",
    file(entry(["Secrets"], IDENTITY)),
    "resources[0].resources[0] must not contain capital letters.",
  ],
  [
    "a star alone",
    file(entry(["*"], IDENTITY)),
    'resources[0].resources[0]: use "*." for all resources of the core group, or "*.*" for all resources.',
  ],
  [
    "a range",
    file(entry(["serviceipallocations"], IDENTITY)),
    "resources[0].resources[0]: serviceipallocations has no REST API and cannot be encrypted.",
  ],
  [
    "the other group of events",
    file(entry(["events.events.k8s.io"], IDENTITY)),
    'resources[0].resources[0]: events are stored in the core group; use "events" instead of "events.events.k8s.io".',
  ],
  [
    "a resource of all groups",
    file(entry(["jobs.*"], IDENTITY)),
    "resources[0].resources[0]: a resource cannot be encrypted across groups; name its group.",
  ],
  [
    "an unknown provider",
    file(entry(["secrets"], { rot13: {} })),
    "resources[0].providers[0] must have exactly one of aesgcm, aescbc, secretbox, identity, kms.",
  ],
  [
    "two providers in one",
    file(entry(["secrets"], { ...AES, ...IDENTITY })),
    "resources[0].providers[0] must have exactly one of aesgcm, aescbc, secretbox, identity, kms.",
  ],
  [
    "KMS v1",
    file(entry(["secrets"], { kms: { name: "k" } })),
    "resources[0].providers[0].kms: Evenkeel does not support version 1 of the KMS API, which Kubernetes has deprecated: set apiVersion to v2, with a plugin that implements it.",
  ],
  ["another version of KMS", plugin({ apiVersion: "v3" }), "resources[0].providers[0].kms.apiVersion must be v2."],
  ["a plugin without a name", plugin({ name: "" }), "resources[0].providers[0].kms.name is required."],
  ["a colon", plugin({ name: "a:b" }), "resources[0].providers[0].kms.name must not contain a colon."],
  [
    "a cache size",
    plugin({ cachesize: 1 }),
    "resources[0].providers[0].kms.cachesize is a field of version 1 of the KMS API.",
  ],
  [
    "an address on the network",
    plugin({ endpoint: "tcp://10.0.0.1:1" }),
    "resources[0].providers[0].kms.endpoint must be the path of a Unix socket, such as unix:///run/kms.sock.",
  ],
  [
    "a timeout of zero",
    plugin({ timeout: "0s" }),
    "resources[0].providers[0].kms.timeout must be a positive duration such as 3s.",
  ],
  [
    "two plugins of one name",
    file(entry(["secrets"], KMS), entry(["configmaps"], KMS)),
    'The name "k" of a KMS plugin is not unique.',
  ],
  [
    "no keys",
    file(entry(["secrets"], { aesgcm: { keys: [] } })),
    "resources[0].providers[0].aesgcm.keys must have at least one key.",
  ],
  ["a key without a name", keyed({ secret: SECRET }), "resources[0].providers[0].aescbc.keys[0].name is required."],
  ["a key without a secret", keyed({ name: "one" }), "resources[0].providers[0].aescbc.keys[0].secret is required."],
  [
    "a secret that is not base64",
    keyed({ name: "one", secret: "top secret!" }),
    "resources[0].providers[0].aescbc.keys[0].secret must be base64.",
  ],
  [
    "a secret of the wrong size",
    keyed({ name: "one", secret: "c2hvcnQ=" }),
    "resources[0].providers[0].aescbc.keys[0].secret must have 16, 24, 32 bytes, not 5.",
  ],
];

test.each([
  ["unix:///run/kms.sock", "/run/kms.sock"],
  ["unix:///@kms", "@kms"],
])(
  "a KMS plugin at %s has its socket, and a timeout of three seconds unless another one is set",
  (endpoint, socket) => {
    for (const [timeout, timeoutMs] of [[undefined, 3_000] as const, ["1m500ms", 60_500] as const]) {
      const parsed = parseEncryptionConfig(plugin({ endpoint, ...(timeout !== undefined && { timeout }) }));
      const providers = parsed.isValid ? parsed.config.get("secrets") : undefined;
      expect(providers).toEqual([{ kind: "kms", name: "k", socket, timeoutMs }]);
    }
  },
);

describe("an invalid file", () => {
  test.each(INVALID)("with %s is rejected with a reason", (_name, value, problem) => {
    expect(problemsOf(value)).toEqual([problem]);
  });

  test("is rejected without its secrets in the reason", () => {
    const broken = keyed({ name: "one", secret: `${SECRET}!` });
    expect(problemsOf(broken).join(" ")).not.toContain(SECRET.slice(0, 8));
  });
});
