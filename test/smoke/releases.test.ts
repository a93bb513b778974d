/**
 * Starts a server of each release as users do, reads its discovery over HTTPS, and compares the result with a golden
 * file.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ALL_VERBS } from "../../src/objects/catalog/catalog.ts";
import { RELEASES } from "../../src/objects/catalog/release.ts";
import { ROOT } from "./built.ts";
import type { Json } from "./client.ts";
import { startEvenkeel, type Evenkeel } from "./start-evenkeel.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** The resources and subresources in discovery, as sorted lines for each group version. */
type Served = Record<string, readonly string[]>;

describe("a server of release", () => {
  test.each(RELEASES)("%s serves the resources of its golden file, in both formats of discovery", async (release) => {
    await using server = await startEvenkeel({ flags: ["--release", release] });
    const { strict, extended } = golden(release);
    expect(await legacyDiscovery(server)).toEqual(extended);
    expect(await aggregatedDiscovery(server)).toEqual(extended);
    const version = await server.request("GET", "/version");
    expect(`${version.body.major}.${version.body.minor}`).toBe(release);
    expect(Object.keys(extended).length).toBeGreaterThan(Object.keys(strict).length);
  });

  test("1.36 with --strict-release serves only the resources that the release serves by default", async () => {
    await using server = await startEvenkeel({ flags: ["--release", "1.36", "--strict-release"] });
    const { strict } = golden("1.36");
    expect(await legacyDiscovery(server)).toEqual(strict);
    expect(await aggregatedDiscovery(server)).toEqual(strict);
  });
});

async function legacyDiscovery(server: Evenkeel): Promise<Served> {
  const served: Served = {};
  const { body: core } = await server.request("GET", "/api");
  const { body: named } = await server.request("GET", "/apis");
  const paths: [path: string, isPreferred: boolean][] = core.versions.map((version: string) => [
    `/api/${version}`,
    true,
  ]);
  for (const group of named.groups) {
    for (const { groupVersion } of group.versions)
      paths.push([`/apis/${groupVersion}`, groupVersion === group.preferredVersion.groupVersion]);
  }
  for (const [path, isPreferred] of paths) {
    const { body } = await server.request("GET", path);
    served[titleOf(body.groupVersion, isPreferred)] = body.resources
      .map((resource: Json) => legacyLine(resource, body.groupVersion))
      .sort();
  }
  return served;
}

function legacyLine(resource: Json, groupVersion: string): string {
  if (!resource.name.includes("/"))
    return resourceLine({ ...resource, resource: resource.name, singular: resource.singularName });
  const own = resource.version === undefined ? groupVersion : joinedVersion(resource.group, resource.version);
  return `${resource.name} ${own}/${resource.kind} ${resource.verbs.join(",")}`;
}

async function aggregatedDiscovery(server: Evenkeel): Promise<Served> {
  const served: Served = {};
  for (const path of ["/api", "/apis"]) {
    const { body } = await server.request("GET", path, undefined, { accept: AGGREGATED });
    for (const group of body.items) {
      // Discovery lists the preferred version first.
      group.versions.forEach((version: Json, index: number) => {
        const groupVersion = joinedVersion(group.metadata.name ?? "", version.version);
        served[titleOf(groupVersion, index === 0)] = version.resources
          .flatMap((resource: Json) => aggregatedLines(resource, groupVersion))
          .sort();
      });
    }
  }
  return served;
}

function aggregatedLines(resource: Json, groupVersion: string): string[] {
  const namespaced = resource.scope === "Namespaced";
  const subresources = (resource.subresources ?? []).map(({ subresource, responseKind, verbs }: Json) => {
    const own = responseKind.version === "" ? groupVersion : joinedVersion(responseKind.group, responseKind.version);
    return `${resource.resource}/${subresource} ${own}/${responseKind.kind} ${verbs.join(",")}`;
  });
  return [
    resourceLine({ ...resource, kind: resource.responseKind.kind, singular: resource.singularResource, namespaced }),
    ...subresources,
  ];
}

function resourceLine({ resource, kind, singular, namespaced, shortNames = [], categories = [], verbs }: Json): string {
  const scope = namespaced ? "namespaced" : "cluster";
  return `${resource} ${kind} (${singular}), ${scope} short=${shortNames.join(",")} categories=${categories.join(",")} verbs=${verbs.join(",")}`;
}

function joinedVersion(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

function titleOf(groupVersion: string, isPreferred: boolean): string {
  return isPreferred ? groupVersion : `${groupVersion}, not preferred`;
}

/** The golden file of a release, reduced to the parts that discovery shows. */
function golden(release: string): { strict: Served; extended: Served } {
  const text = readFileSync(join(ROOT, "test/golden/releases", `${release}.txt`), "utf8");
  const [own, added] = text.split(/^Added by Evenkeel.*$/m) as [string, string];
  const strict = sections(own.split("\n\n").slice(3));
  const more = sections(added.trim().split("\n\n"));
  return { strict, extended: { ...strict, ...more } };
}

function sections(texts: readonly string[]): Served {
  const served: Served = {};
  for (const text of texts.filter((candidate) => candidate.trim() !== "")) {
    const [head, ...lines] = text.trimEnd().split("\n") as [string, ...string[]];
    served[head.replace(/ \(priority [^)]*\)/, "")] = lines.map(goldenLine).sort();
  }
  return served;
}

function goldenLine(line: string): string {
  if (line.startsWith("    ")) return line.trim().replace(" verbs=", " ");
  const [, resource, kind, singular, scope] = /^ {2}(\S+) (\S+) \((\S*)\), (namespaced|cluster)/.exec(line)!;
  const fact = (name: string): string[] => new RegExp(`; ${name}=([^;]*)`).exec(line)?.[1]!.split(",") ?? [];
  const verbs = fact("verbs");
  const shown = {
    resource,
    kind,
    singular,
    namespaced: scope === "namespaced",
    shortNames: fact("short"),
    categories: fact("categories"),
  };
  return resourceLine({ ...shown, verbs: verbs.length === 0 ? ALL_VERBS : verbs });
}
