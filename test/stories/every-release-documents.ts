/** Reads all discovery documents of one server, in either format, and derives requests for every listed resource. */
import { decodeGroups, decodeResourceList } from "../../src/serving/discovery/decode.ts";
import type { DiscoveryGroup } from "../../src/serving/discovery/groups.ts";
import { parseGroupVersion, type GroupVersion } from "../../src/meta/group-version.ts";
import { isJsonObject, stringAt, stringsAt, type JsonObject } from "../../src/meta/json.ts";
import { pathOf, TARGETS, type Target } from "../simulator/targets.ts";

/** A discovery document of a server, and the time at which it was requested. */
export interface Document {
  readonly content: JsonObject;
  readonly askedAtMs: number;
}

/**
 * Reads the document at a path that the document `namedBy` lists (undefined for /api and /apis). Returns undefined if
 * the server did not return the document.
 */
export type ReadDocument = (path: string, namedBy: Document | undefined) => Promise<Document | undefined>;

/** A resource or subresource that discovery lists. */
export interface Named extends Target {
  readonly verbs: readonly string[];
}

export interface Listed extends Named {
  readonly listedAtMs: number;
}

export async function readAggregated(read: ReadDocument): Promise<Listed[]> {
  const listed: Listed[] = [];
  for (const root of ["/api", "/apis"]) {
    const document = await read(root, undefined);
    if (document !== undefined) listed.push(...listedBy(document, decodeGroups(document.content)));
  }
  return listed;
}

export async function readLegacy(read: ReadDocument): Promise<Listed[]> {
  const listed: Listed[] = [];
  const add = async (path: string, groupVersion: GroupVersion, namedBy: Document): Promise<void> => {
    const document = await read(path, namedBy);
    if (document === undefined) return;
    const versions = [decodeResourceList(document.content, groupVersion)];
    listed.push(...listedBy(document, [{ name: groupVersion.group, versions }]));
  };
  const core = await read("/api", undefined);
  if (core !== undefined)
    for (const version of stringsAt(core.content, "versions"))
      await add(`/api/${version}`, { group: "", version }, core);
  const named = await read("/apis", undefined);
  for (const group of named === undefined ? [] : objectsAt(named.content, "groups")) {
    await read(`/apis/${stringAt(group, "name")}`, named);
    const texts = objectsAt(group, "versions").map((version) => stringAt(version, "groupVersion"));
    for (const text of texts) await add(`/apis/${text}`, parseGroupVersion(text), named!);
  }
  return listed;
}

function listedBy({ askedAtMs: listedAtMs }: Document, groups: readonly DiscoveryGroup[]): Listed[] {
  return namedIn(groups).map((one) => ({ ...one, listedAtMs }));
}

export function namedIn(groups: readonly DiscoveryGroup[]): Named[] {
  return groups.flatMap(({ name: group, versions }) =>
    versions.flatMap(({ version, resources }) =>
      resources.flatMap(({ resource, scope, verbs, subresources }) => {
        const target = { group, version, resource, isNamespaced: scope === "Namespaced" };
        const below = subresources.map((one) => ({ ...target, subresource: one.subresource, verbs: one.verbs }));
        return [...(verbs.length > 0 ? [{ ...target, subresource: "", verbs }] : []), ...below];
      }),
    ),
  );
}

export function nameOf({ group, version, resource, subresource }: Named): string {
  return [group, version, resource, subresource].filter((part) => part !== "").join("/");
}

function objectsAt(parent: JsonObject, key: string): JsonObject[] {
  const value = parent[key];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

export interface Touch {
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  readonly body?: object;
  readonly contentType?: string;
}

const NOBODY = "nobody";

/**
 * The requests that access a listed resource: reads, and if an example body exists, also the creation, change and
 * deletion of an object. If neither is possible, one POST or PUT with an empty body, if the verbs of the resource allow
 * it.
 */
export function touchesOf(listed: Named, name: string): Touch[] {
  const { verbs, subresource } = listed;
  const made = TARGETS.find((target) => pathOf(target) === pathOf(listed) && target.create !== undefined);
  const touches: Touch[] = [];
  if (verbs.includes("list")) touches.push({ method: "GET", path: pathOf(listed), query: "limit=1" });
  if (verbs.includes("get")) touches.push({ method: "GET", path: pathOf(listed, NOBODY) });
  if (made !== undefined) touches.push(...writesOf(listed, name, made.create!(name)));
  if (touches.length > 0) return touches;
  const path = pathOf(listed, subresource === "" ? "" : NOBODY);
  if (verbs.includes("create")) return [{ method: "POST", path, body: {} }];
  return verbs.some((verb) => verb === "update" || verb === "patch") ? [{ method: "PUT", path, body: {} }] : [];
}

function writesOf(listed: Named, name: string, body: object): Touch[] {
  const path = pathOf(listed, name);
  const change = { metadata: { annotations: { touched: "yes" } } };
  return [
    { method: "POST", path: pathOf(listed), body },
    { method: "PATCH", path, body: change, contentType: "application/merge-patch+json" },
    { method: "DELETE", path },
  ];
}
