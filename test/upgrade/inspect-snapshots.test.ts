/** Inspects snapshots of a real kube-apiserver, if they are present, and compares the counts with independent lists. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createLocator } from "../../src/cluster/inspect/resource-of-key.ts";
import { parseYaml } from "../../src/objects/yaml/yaml.ts";
import { parseEncryptionConfig } from "../../src/storage/encryption/encryption-config.ts";
import { openEtcdSnapshot } from "../../src/tools/upgrade/sources/etcd-snapshot.ts";
import type { DecryptionOptions } from "../../src/tools/upgrade/inspect/collect/encrypted-values.ts";
import { inspectStoredData, type InspectOptions } from "../../src/tools/upgrade/inspect/inspect-stored-data.ts";
import type { Inspection } from "../../src/tools/upgrade/inspect/inspection.ts";

const DIRECTORY = join(import.meta.dirname, "../../../shared/snapshots");
const SNAPSHOTS = ["emulated-1.33", "upgraded-1.36", "encrypted-three"] as const;
const REQUEST = { signal: new AbortController().signal, onProgress: () => {} };

type Listed = readonly [encoding: string, apiVersion: string, kind: string];

function keyList(name: string): ReadonlyMap<string, Listed> {
  const text = gunzipSync(readFileSync(join(DIRECTORY, `${name}.keys.json.gz`))).toString();
  const { keys } = JSON.parse(text) as { readonly keys: Record<string, Listed> };
  return new Map(Object.entries(keys));
}

async function inspectSnapshot(
  name: string,
  options: Pick<InspectOptions, "from" | "to" | "encryption">,
): Promise<Inspection> {
  const data = await openEtcdSnapshot(join(DIRECTORY, `${name}.db.gz`), REQUEST);
  try {
    return await inspectStoredData(data, { ...REQUEST, ...options });
  } finally {
    await data.close();
  }
}

function givenConfiguration(): DecryptionOptions {
  const text = readFileSync(join(DIRECTORY, "encryption-config.yaml"), "utf8");
  const parsed = parseEncryptionConfig(parseYaml(text).value);
  if (!parsed.isValid) throw new Error(parsed.problems.join(" "));
  return {
    config: parsed.config,
    clock: { now: () => 0, monotonic: () => 0, after: () => () => {} },
    random: { float: () => 0, bytes: (length) => randomBytes(length) },
    openPlugin: () => {
      throw new Error("there is no KMS plugin in the configuration");
    },
  };
}

/** Counts as "configmaps. protobuf" and "configmaps. v1", from an inspection or from a list of keys. */
function countsOf({ resources }: Inspection): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { group, resource, encodings, versions } of resources) {
    for (const [encoding, count] of Object.entries(encodings))
      if (count > 0) counts[`${resource}.${group} ${encoding}`] = count;
    for (const { apiVersion, objects } of versions) counts[`${resource}.${group} ${apiVersion}`] = objects;
  }
  return counts;
}

function listedCounts(keys: ReadonlyMap<string, Listed>): Record<string, number> {
  const locate = createLocator("/registry/");
  const counts: Record<string, number> = {};
  const add = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);
  for (const [key, [encoding, apiVersion]] of keys) {
    const found = locate(key);
    if (found.kind === "private") continue;
    const [group, resource] =
      found.kind === "object" ? [found.place.group, found.place.resource] : found.prefix.split("/");
    add(`${resource}.${group} ${encoding}`);
    if (encoding !== "encrypted") add(`${resource}.${group} ${apiVersion}`);
  }
  return counts;
}

/** The problems that were planted in all snapshots. */
const PLANTED = ["api-older", "crd-old-version-stored", "namespace-missing", "namespace-terminating", "owner-missing"];

describe.skipIf(!existsSync(DIRECTORY))("a snapshot of a real kube-apiserver", () => {
  test.each(SNAPSHOTS)("%s: counts by encoding and version equal the list of keys", async (name) => {
    const keys = keyList(name);
    const inspection = await inspectSnapshot(name, { to: ["1.36"] });
    expect(countsOf(inspection)).toEqual(listedCounts(keys));
    expect(inspection.read.keys).toBe(keys.size);
    expect(inspection.unreadable.count).toBe(0);
  });

  test.each([
    ["emulated-1.33", { from: undefined, to: ["1.36"] }],
    ["upgraded-1.36", { from: "1.36", to: ["1.37"] }],
    ["encrypted-three", { from: "1.36", to: ["1.37"], encryption: "given" }],
  ] as const)("%s: every planted problem is found, and nothing else is an error", async (name, options) => {
    const encryption = "encryption" in options ? givenConfiguration() : undefined;
    const { findings } = await inspectSnapshot(name, { ...options, encryption });
    expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(findings.map(({ id }) => id)).toEqual(expect.arrayContaining(PLANTED));
    const subjects = findings.flatMap(({ id, subjects: all }) => all.map((one) => `${id}: ${one.name} ${one.detail}`));
    const oldWidgets = name === "emulated-1.33" ? 5 : 3;
    expect(subjects.filter((text) => text.startsWith("crd-old-version-stored"))).toHaveLength(oldWidgets);
    expect(subjects).toContain("owner-missing: configmaps shop/orphan owner: ReplicaSet gone");
    expect(subjects).toContain("namespace-terminating: namespaces stuck left: 4 configmaps; finalizers: kubernetes");
    expect(subjects.filter((text) => text.startsWith("namespace-missing: configmaps ghost/"))).toHaveLength(4);
    expect(subjects.filter((text) => text.startsWith("api-older: old-cd-tool"))).toHaveLength(1);
  });

  test("emulated-1.33: the release is found from what the servers have registered", async () => {
    const { from, hops } = await inspectSnapshot("emulated-1.33", { to: ["1.36"] });
    expect(from).toMatchObject({ release: "1.33", origin: "found" });
    expect(hops).toEqual(["1.34", "1.35", "1.36"]);
  });

  test("upgraded-1.36: several releases fit, so the release is asked for", async () => {
    const { from } = await inspectSnapshot("upgraded-1.36", { to: ["1.37"] });
    expect(from).toMatchObject({ origin: "unknown", candidates: ["1.34", "1.35", "1.36"] });
  });

  test("encrypted-three: with the configuration all values are read, and the keys behind the first are outdated", async () => {
    const closed = await inspectSnapshot("encrypted-three", { from: "1.36", to: ["1.37"] });
    const open = await inspectSnapshot("encrypted-three", {
      from: "1.36",
      to: ["1.37"],
      encryption: givenConfiguration(),
    });
    const keys = (inspection: Inspection): string[] =>
      inspection.encryption.keys
        .map(({ provider, key, values, status }) => `${provider}:${key} ${values} ${status}`)
        .toSorted();
    expect(keys(closed)).toEqual([
      "aescbc:key-aescbc 3 not-tried",
      "aesgcm:key-aesgcm 3 not-tried",
      "secretbox:key-secretbox 3 not-tried",
    ]);
    expect(keys(open)).toEqual([
      "aescbc:key-aescbc 3 decrypted",
      "aesgcm:key-aesgcm 3 decrypted",
      "secretbox:key-secretbox 3 decrypted",
    ]);
    expect(open.read.objects - closed.read.objects).toBe(9);
    const outdated = open.findings.find(({ id }) => id === "encryption-key-outdated");
    expect(outdated?.subjects.map(({ name }) => name).toSorted()).toEqual([
      "aescbc:v1:key-aescbc",
      "aesgcm:v1:key-aesgcm",
    ]);
    expect(closed.findings.map(({ id }) => id)).toContain("encrypted-not-inspected");
  });
});
