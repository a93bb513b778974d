/** Turns a CRD version into the form that the verbs use: the schema, behavior and representations of its objects. */
import { formatGroupVersion, parseGroupVersion, type GroupVersion } from "../../../meta/group-version.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../meta/names.ts";
import { parseJsonPath } from "../../../objects/json/json-path.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import { customTableRenderer } from "../../../objects/table/custom.ts";
import type { TypedObject } from "../../../objects/typed-decode.ts";
import { must } from "../../../base/assert.ts";
import type {
  CustomShape,
  Encoding,
  ServedResource,
  StoredResource,
  Strategy,
} from "../../../serving/registry/resource.ts";
import type { CustomSchema } from "../structural-schema/custom-schema.ts";
import { fieldSelectorsOf } from "./catalog-resource.ts";
import { customKind } from "./custom-kind.ts";
import { crdKey, type Crd, type CrdVersion } from "../crd.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

export interface CustomServedParts {
  /** For example "/registry/". */
  readonly storageRoot: string;
  readonly encoding: Encoding;
  /** The release gates of this server. */
  readonly gates: ReleaseGates;
  /** Schemas of built-in kinds, which the scale subresource needs. */
  readonly builtInSchema: (groupVersion: GroupVersion, kind: string) => StructSchema | undefined;
  /** Compiled schemas of this CRD, by version. */
  readonly schemaOf: (version: string) => CustomSchema | undefined;
  readonly convert: CustomShape["convert"];
  readonly rejectCreation: CustomShape["rejectCreation"];
}

export function customServed(crd: Crd, version: CrdVersion, parts: CustomServedParts): ServedResource {
  const { group, acceptedNames, namespaced } = crd;
  const { kind, listKind, plural: resource } = acceptedNames;
  const groupVersion = { group, version: version.name };
  const apiVersion = formatGroupVersion(groupVersion);
  // The schema is compiled when the first object is validated, because the server itself watches every resource, and
  // most have no writes.
  const schema = (): CustomSchema => must(parts.schemaOf(version.name), "every version of a CRD has a schema");
  const isOwn = (asked: GroupVersion, of: string): boolean => asked.group === group && of === kind;
  return {
    custom: customShape(crd, version, { ...parts, schema }),
    stored: storedResource(crd, version, parts),
    groupResource: { group, resource },
    groupVersion,
    apiVersion,
    kind,
    listKind,
    meaning: customKind(version, schema),
    gates: parts.gates,
    get schema() {
      return schema().struct;
    },
    schemaOf: (asked, of = kind) =>
      isOwn(asked, of) ? parts.schemaOf(asked.version)?.struct : parts.builtInSchema(asked, of),
    table: customTableRenderer(version.columns),
    fieldSelectors: fieldSelectorsOf(version, namespaced),
    fieldSelectorErrorStyle: "label",
    fieldSelectorAliases: {},
    objectHead: lastingBuffer(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`),
    ...(version.scale === undefined ? {} : { scale: version.scale }),
  };
}

const STRATEGY: Omit<Strategy, "hasStatus"> = {
  nameRule: dnsSubdomainErrors,
  tracksGeneration: true,
  allowsCreateOnUpdate: false,
  allowsUnconditionalUpdate: false,
  returnsDeletedObject: false,
  createsWithStatus: false,
  deletionLifecycle: "ordinary",
  ttlSeconds: undefined,
  orphansByDefault: false,
  ignoresGarbageCollection: false,
};

function storedResource(
  { group, acceptedNames, namespaced, storageVersion }: Crd,
  { hasStatus }: CrdVersion,
  { storageRoot, encoding }: CustomServedParts,
): StoredResource {
  return {
    group,
    resource: acceptedNames.plural,
    namespaced,
    keyPrefix: `${storageRoot}${group}/${acceptedNames.plural}/`,
    storageVersion: { group, version: storageVersion },
    encoding,
    strategy: { ...STRATEGY, hasStatus },
  };
}

function customShape(
  definition: Crd,
  version: CrdVersion,
  parts: CustomServedParts & { readonly schema: () => CustomSchema },
): CustomShape {
  const { group, versions } = definition;
  const { schema, convert, rejectCreation } = parts;
  const schemaIn = (object: JsonObject): CustomSchema | undefined =>
    parts.schemaOf(parseGroupVersion(stringAt(object, "apiVersion")).version);
  const known = new Set(versions.map(({ name }) => `${group}/${name}`));
  const paths = new Map(version.selectableFields.map((path) => [path.replace(/^\./, ""), parseJsonPath(path)]));
  return {
    key: crdKey(definition),
    membersKey: `members ${version.name} ${crdKey(definition)}`,
    isKnown: (stored) => known.has(stored),
    decode: (value) => decode(value, schema()),
    finish: (object) => schemaIn(object)?.finish(object) === true,
    prune: (object) => void schemaIn(object)?.decode(object),
    convert: definition.conversion.strategy === "Webhook" ? convert : undefined,
    fieldValue: (object, field) => selectorText(paths.get(field)?.first(object)),
    rejectCreation,
  };
}

/**
 * Not allocated from Node's shared pool: there are many of these long-lived buffers, and each would keep a whole pool
 * in memory.
 */
function lastingBuffer(text: string): Buffer {
  const buffer = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  buffer.write(text);
  return buffer;
}

function selectorText(value: unknown): string {
  return value === undefined || value === null || typeof value === "object" ? "" : String(value);
}

/**
 * Takes ownership of the value, which becomes the object. As kubernetes: an empty list of managed fields does not reset
 * them.
 */
function decode(value: JsonObject, schema: CustomSchema): TypedObject {
  const unknownFields = schema.decode(value);
  const metadata = objectAt(value, "metadata");
  if (Array.isArray(metadata["managedFields"]) && metadata["managedFields"].length === 0)
    delete metadata["managedFields"];
  return { object: value, unknownFields };
}
