/**
 * The store as a kube-apiserver of one release reads and writes it. Evenkeel reads more than the release does, keeps
 * fields that the release does not know, and protects namespaces that hold objects, so that a rehearsal on the bare
 * store would hide the damage that kube-apiserver does.
 */
import { isJsonObject, parseJsonObject, setMember, stringAt, type JsonObject } from "../../meta/json.ts";
import { parseGroupVersion } from "../../meta/group-version.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { openSchemas, type SchemaSource } from "../../objects/catalog/schema-source.ts";
import { storagePlaces, storageOfRelease } from "../../objects/catalog/storage-places.ts";
import type { FieldSchema, StructSchema } from "../../objects/schema.ts";
import { hasUnknownFields } from "../../objects/unknown-fields.ts";
import type { CommitResult, Kv, KvEvent, RangeRequest, RangeResult } from "../../storage/kv.ts";
import { overlaidKv } from "../../storage/overlaid-kv.ts";
import { STORE_ROOT } from "../simulator/history.ts";

/** The count that Evenkeel makes before it removes a namespace: all objects of a resource in one namespace. */
const NAMESPACE_CONTENT = /^\/registry\/.+\/[^/]+\/$/;

export function readAsRelease(kv: Kv, release: ReleaseName): Kv {
  const decoded = createDecoder(release);
  const seen = <T extends { readonly key: string; readonly value: Buffer }>(item: T): T => {
    const value = decoded(item.key, item.value);
    if (value === item.value) return item;
    return typeof value === "string" ? { ...item, sealing: { sealedBy: "", problem: value } } : { ...item, value };
  };
  const seenEvent = (event: KvEvent): KvEvent => (event.kind === "put" ? seen(event) : event);
  return overlaidKv(kv, {
    async range(request): Promise<RangeResult> {
      const result = await kv.range(request);
      if (countsNamespace(request)) return { ...result, count: 0 };
      return { ...result, items: result.items.map(seen) };
    },
    async commit(change): Promise<CommitResult> {
      const result = await kv.commit(change);
      return result.committed || result.current === undefined ? result : { ...result, current: seen(result.current) };
    },
    watch: (request, sink) =>
      kv.watch(request, {
        events: (batch) => sink.events(batch.map(seenEvent)),
        progress: (revision) => sink.progress(revision),
        interrupted: (isInterrupted) => sink.interrupted(isInterrupted),
        closed: (error) => sink.closed(error),
      }),
  });
}

function countsNamespace({ countOnly, start }: RangeRequest): boolean {
  return countOnly === true && NAMESPACE_CONTENT.test(start);
}

/** The decoder returns a string, as kubernetes' error, if the release cannot decode the value. */
function createDecoder(release: ReleaseName): (key: string, value: Buffer) => Buffer | string {
  const schemas = openSchemas(release);
  const decodable = decodableByPrefix(release);
  return (key, value) => {
    const versions = versionsAt(decodable, key);
    const object = versions === undefined ? undefined : parseJsonObject(value.toString("utf8"));
    if (versions === undefined || object === undefined) return value;
    const apiVersion = stringAt(object, "apiVersion");
    if (!versions.has(apiVersion))
      return `no kind ${JSON.stringify(object["kind"])} is registered for version ${JSON.stringify(apiVersion)}`;
    const schema = schemaOf(object, schemas);
    if (schema === undefined || !hasUnknownFields(object, schema)) return value;
    return Buffer.from(JSON.stringify(knownPart(object, schema)));
  };
}

/** The versions that the release decodes, by the key prefix of the resource. */
function decodableByPrefix(release: ReleaseName): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    storagePlaces().flatMap((place) => {
      const storage = storageOfRelease(place, release);
      return storage === undefined ? [] : [[place.prefix, new Set(storage.decodableVersions)] as const];
    }),
  );
}

/** Undefined if the release does not store the resource: then it does not read the key. */
function versionsAt(decodable: ReadonlyMap<string, ReadonlySet<string>>, key: string): ReadonlySet<string> | undefined {
  const [first = "", second = ""] = key.slice(STORE_ROOT.length).split("/", 2);
  return decodable.get(`${first}/${second}`) ?? decodable.get(first);
}

/** The schema of the stored version of an object; undefined if the release has none. */
export function schemaOf(object: JsonObject, schemas: SchemaSource): StructSchema | undefined {
  const { group, version } = parseGroupVersion(stringAt(object, "apiVersion"));
  return schemas.kind(group, version, stringAt(object, "kind"));
}

/** The object without the fields that the release does not know, as Go's decoder returns it. */
function knownPart(object: JsonObject, schema: StructSchema): JsonObject {
  if (schema.preserveUnknown) return object;
  const known: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    const field = schema.fields.get(key);
    if (field !== undefined) setMember(known, key, knownValue(value, field));
  }
  return known;
}

function knownValue(value: unknown, { struct, items, type }: FieldSchema): unknown {
  if (struct !== undefined && type === "struct") return isJsonObject(value) ? knownPart(value, struct) : value;
  if (items === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => knownValue(item, items));
  if (!isJsonObject(value)) return value;
  const known: JsonObject = {};
  for (const [key, item] of Object.entries(value)) setMember(known, key, knownValue(item, items));
  return known;
}
