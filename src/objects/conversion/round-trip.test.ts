import { describe, expect, test } from "vitest";
import { openCatalog } from "../catalog/catalog.ts";
import { RELEASES, type ReleaseName } from "../catalog/release.ts";
import { parseRuntimeConfig } from "../catalog/runtime-config.ts";
import { formatGroupVersion, parseGroupVersion, type GroupVersion } from "../../meta/group-version.ts";
import { cloneJson, isJsonObject, objectAt, type JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { convertObject, isConvertible, isSameShape } from "./convert.ts";
import { fullObject } from "../../../test/testing/objects/conversion/full-object.ts";

interface KindVersions {
  readonly kind: string;
  /** All versions that a release serves or can decode. */
  readonly versions: readonly string[];
  readonly release: ReleaseName;
  schema(version: string): StructSchema | undefined;
}

const everything = {
  runtimeConfig: parseRuntimeConfig("api/all=true"),
  featureGates: new Map([
    ["AllAlpha", true],
    ["AllBeta", true],
  ]),
};

const releases = RELEASES.map((release) => ({ release, kinds: kindsOf(release) }));

function kindsOf(release: ReleaseName): readonly KindVersions[] {
  const catalog = openCatalog({ release, ...everything });
  return catalog.groups
    .flatMap((group) => group.resources)
    .map(({ group, versions, decodableVersions }) => ({
      kind: versions[0]?.kind ?? "",
      versions: [
        ...new Set([...versions.map(({ version }) => formatGroupVersion({ group, version })), ...decodableVersions]),
      ],
      release,
      schema(version: string) {
        const parsed = parseGroupVersion(version);
        return catalog.schemas.kind(parsed.group, parsed.version, versions[0]?.kind ?? "");
      },
    }))
    .filter(({ versions }) => versions.length > 1);
}

/** For every version of the kind, an object with every field of a release, and the other versions. */
function fullObjectsOf(kind: KindVersions) {
  return kind.versions.flatMap((version) => {
    const schema = kind.schema(version);
    if (schema === undefined) return [];
    const from = parseGroupVersion(version);
    const object = withValidUnions(fullObject(schema, { ...from, kind: kind.kind }));
    const others = kind.versions.filter((other) => other !== version);
    return others.map((other) => ({
      object,
      from,
      to: parseGroupVersion(other),
      others: others.map(parseGroupVersion),
      schema: kind.schema(other),
      label: `${kind.kind} from ${version} to ${other}`,
    }));
  });
}

/** An Ingress refers to a port by name or by number, never by both. */
function withValidUnions(object: JsonObject): JsonObject {
  if (object["kind"] !== "Ingress") return object;
  const copy = cloneJson(object);
  visit(copy, (value) => {
    if (isJsonObject(value["port"])) delete value["port"]["number"];
  });
  return copy;
}

function visit(value: unknown, see: (object: JsonObject) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, see);
  if (!isJsonObject(value)) return;
  see(value);
  for (const member of Object.values(value)) visit(member, see);
}

describe.each(releases)("in release $release", ({ kinds }) => {
  test("a full object loses nothing in a round trip through another version", () => {
    for (const { object, from, to, label } of kinds.flatMap(fullObjectsOf)) {
      const before = cloneJson(object);
      const converted = convertObject(object, from, to);
      expect(converted, label).toMatchObject({ apiVersion: formatGroupVersion(to), kind: object["kind"] });
      expect(convertObject(converted, to, from), label).toEqual(object);
      expect(object, label).toEqual(before);
    }
  });

  test("a full object loses nothing in a round trip through all versions", () => {
    for (const { object, from, others, label } of kinds.flatMap(fullObjectsOf)) {
      const stations = [...others, from];
      let at = { object, version: from };
      for (const to of stations) at = { object: convertObject(at.object, at.version, to), version: to };
      expect(at.object, label).toEqual(object);
    }
  });

  test("a converted object has only fields of its version", () => {
    for (const { object, from, to, schema, label } of kinds.flatMap(fullObjectsOf)) {
      if (schema === undefined || hasDroppedFields(object, to)) continue;
      expect(unknownPaths(convertObject(object, from, to), schema, ""), label).toEqual([]);
    }
  });

  test("two versions have the same shape exactly if they have the same fields", () => {
    for (const { object, from, to, schema, label } of kinds.flatMap(fullObjectsOf)) {
      if (schema === undefined || hasDroppedFields(object, to) || isZeroSharesPair(object, from, to)) continue;
      const hasSameFields = unknownPaths(object, schema, "").length === 0;
      expect(isSameShape(object["kind"] as string, from, to), label).toBe(hasSameFields);
    }
  });

  test("an object keeps all unknown fields in a conversion between versions of the same shape", () => {
    for (const { object, from, to, label } of kinds.flatMap(fullObjectsOf)) {
      if (!isSameShape(object["kind"] as string, from, to)) continue;
      const strange = cloneJson(object);
      visit(strange, (value) => (value["fieldOfTomorrow"] = "kept"));
      expect(convertObject(strange, from, to), label).toEqual({ ...strange, apiVersion: formatGroupVersion(to) });
    }
  });

  test("an object keeps unknown fields of its metadata, spec and status in a conversion between versions of different shapes", () => {
    for (const { object, from, to, label } of kinds.flatMap(fullObjectsOf)) {
      const strange = cloneJson(object);
      for (const part of ["metadata", "spec", "status"]) {
        if (isJsonObject(strange[part])) objectAt(strange, part)["fieldOfTomorrow"] = "kept";
      }
      expect(convertObject(convertObject(strange, from, to), to, from), label).toEqual(strange);
    }
  });
});

test("every two versions that one release serves or decodes are convertible", () => {
  const missing = releases.flatMap(({ release, kinds }) =>
    kinds.flatMap(({ kind, versions }) =>
      versions.flatMap((from) =>
        versions
          .filter((to) => !isConvertible(kind, parseGroupVersion(from), parseGroupVersion(to)))
          .map((to) => `${release}: ${kind} ${from} to ${to}`),
      ),
    ),
  );
  expect(missing).toEqual([]);
});

/** PodCertificateRequest v1 lacks two fields, but converted objects keep them. */
function hasDroppedFields(object: JsonObject, version: GroupVersion): boolean {
  return object["kind"] === "PodCertificateRequest" && version.version === "v1";
}

/** Pairs of versions with the same fields, of which only one treats zero shares as the default. */
function isZeroSharesPair(object: JsonObject, from: GroupVersion, to: GroupVersion): boolean {
  return object["kind"] === "PriorityLevelConfiguration" && [from.version, to.version].sort().join() === "v1,v1beta3";
}

function unknownPaths(object: JsonObject, schema: StructSchema, path: string): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const field = schema.fields.get(name);
    return field === undefined ? [`${path}.${name}`] : unknownInField(value, field, `${path}.${name}`);
  });
}

function unknownInField(value: unknown, field: FieldSchema, path: string): string[] {
  if (field.quantity || field.intOrString) return typeof value === "object" ? [path] : [];
  if (field.type === "array" || field.type === "map") {
    const { items } = field;
    return Object.values(value as object).flatMap((item) =>
      items === undefined ? [] : unknownInField(item, items, `${path}[]`),
    );
  }
  const { struct } = field;
  if (struct === undefined || struct.fields.size === 0) return [];
  return isJsonObject(value) ? unknownPaths(value, struct, path) : [path];
}
