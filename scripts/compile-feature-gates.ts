/**
 * Script for maintainers: reads the names of the feature gates that kube-apiserver has in each release from a clone of
 * the Kubernetes repository, and writes them to src/objects/catalog/data/feature-gates.json.
 *      node scripts/compile-feature-gates.ts KUBERNETES_DIR
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

import { releaseInfo, RELEASES, type ReleaseName } from "../src/objects/catalog/release.ts";
import type { StoredGateNames } from "../src/objects/catalog/stored-format.ts";

/** The files that declare the gates of kube-apiserver. Some releases do not have all of them. */
const FILES: readonly string[] = [
  "pkg/features/kube_features.go",
  "pkg/features/versioned_kube_features.go",
  ...[
    "apiextensions-apiserver/pkg/features/kube_features.go",
    "apiserver/pkg/features/kube_features.go",
    "client-go/features/known_features.go",
    "component-base/logs/api/v1/kube_features.go",
    "component-base/metrics/features/kube_features.go",
    "component-base/zpages/features/kube_features.go",
    "controller-manager/pkg/features/kube_features.go",
  ].map((file) => `staging/src/k8s.io/${file}`),
];
const DECLARATION = /^\s+\w+(?:\s+(?:featuregate\.)?Feature)?\s*=\s*(?:featuregate\.Feature\()?"(\w+)"/gm;

function gatesAt(directory: string, release: ReleaseName): Set<string> {
  const { gitVersion } = releaseInfo(release);
  const run = (...command: string[]): string =>
    execFileSync("git", ["-C", directory, ...command], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const files = run("ls-tree", "--name-only", gitVersion, ...FILES)
    .split("\n")
    .filter((file) => file !== "");
  const texts = files.map((file) => run("show", `${gitVersion}:${file}`));
  return new Set(texts.flatMap((text) => [...text.matchAll(DECLARATION)].map(([, name = ""]) => name)));
}

function compile(directory: string): StoredGateNames {
  const byRelease = RELEASES.map((release) => ({ release, gates: gatesAt(directory, release) }));
  const names = [...new Set(byRelease.flatMap(({ gates }) => [...gates]))].sort();
  const byRange = new Map<string, [ReleaseName, ReleaseName, string[]]>();
  for (const name of names) {
    const having = byRelease.filter(({ gates }) => gates.has(name)).map(({ release }) => release);
    const [first, last] = [having[0]!, having.at(-1)!];
    const range = byRange.get(`${first} ${last}`) ?? [first, last, []];
    range[2].push(name);
    byRange.set(`${first} ${last}`, range);
  }
  return [...byRange].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, range]) => range);
}

const [, , directory] = process.argv;
if (directory === undefined) throw new Error("usage: node scripts/compile-feature-gates.ts KUBERNETES_DIR");
const lines = compile(directory).map((range) => JSON.stringify(range));
writeFileSync(
  new URL("../src/objects/catalog/data/feature-gates.json", import.meta.url),
  `[\n${lines.join(",\n")}\n]\n`,
);
