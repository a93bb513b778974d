/**
 * Converts the object of a write to the API versions that webhooks and policies select, and decodes objects that they
 * have changed.
 */
import type { ObjectVersions, ServedVersion } from "../admission.ts";
import type { CatalogGroup } from "../../../objects/catalog/catalog.ts";
import { decodeAs } from "../../../serving/endpoints/decode-body.ts";
import type { ResolveEndpoint } from "../../../serving/endpoints/resolve-or-not-found.ts";
import { formatGroupVersion, parseGroupVersion, type GroupVersion } from "../../../meta/group-version.ts";
import { cloneJson, stringAt, type JsonObject } from "../../../meta/json.ts";
import { convertObject } from "../../../objects/conversion/convert.ts";
import type { GoZeros } from "../../../objects/go/go-zeros.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import { decodeTyped } from "../../../objects/typed-decode.ts";
import type { RegistryContext } from "../../../serving/registry/context.ts";
import { withDefaults } from "../../../serving/registry/defaults.ts";
import type { ServedResource } from "../../../serving/registry/resource.ts";

export interface VersionParts {
  readonly context: RegistryContext;
  readonly resolve: ResolveEndpoint;
  /** All served groups. */
  readonly groups: () => readonly CatalogGroup[];
  /** Schemas of built-in kinds, including kinds that are never stored. */
  readonly schemaOf: (groupVersion: GroupVersion, kind: string) => StructSchema | undefined;
  readonly zeros: GoZeros;
}

interface VersionsOf {
  readonly groupVersion: GroupVersion;
  readonly resource: string;
  /** The kind of the written object. */
  readonly kind: ServedVersion["kind"];
  /** True if `kind` is the kind of the resource itself, false if it is that of a subresource, such as Scale. */
  readonly isOwnKind: boolean;
}

export interface Versions {
  of(what: VersionsOf): ObjectVersions;
  /**
   * Decodes the object as if a client had sent it in this version: drops unknown fields and applies defaults. Throws
   * the error of the decoder.
   */
  decode(object: JsonObject, version: ServedVersion): JsonObject;
  /** Undefined if the schema is unknown. */
  schemaOf(version: ServedVersion): StructSchema | undefined;
}

export function createVersions(parts: VersionParts): Versions {
  const { context, resolve, schemaOf, zeros } = parts;
  const storedKind = ({ groupVersion, resource, kind }: ServedVersion): ServedResource | undefined => {
    const served = resolve(groupVersion.group, groupVersion.version, resource)?.served;
    return served?.kind === kind.kind && served.groupVersion.group === kind.group ? served : undefined;
  };
  return {
    of: (what) => ({
      served: servedVersions(parts, what),
      convert: (object, to) => converted(context, storedKind(to), object),
    }),
    decode(object, version) {
      const served = storedKind(version);
      const own = cloneJson(object);
      if (served !== undefined) return decoded(context, served, own, zeros);
      const schema = schemaOf(version.kind, version.kind.kind);
      return schema === undefined ? own : decodeTyped(own, schema, { zeros }).object;
    },
    schemaOf: (version) => storedKind(version)?.schema ?? schemaOf(version.kind, version.kind.kind),
  };
}

function servedVersions(
  { groups }: VersionParts,
  { groupVersion, resource, kind, isOwnKind }: VersionsOf,
): ServedVersion[] {
  const { group } = groupVersion;
  const versions = groups()
    .find(({ name }) => name === group)
    ?.resources.find((one) => one.resource === resource)?.versions;
  return (versions ?? []).map(({ version, kind: ownKind }) => ({
    groupVersion: { group, version },
    resource,
    kind: isOwnKind ? { group, version, kind: ownKind } : kind,
  }));
}

/**
 * An object whose kind is never stored, such as Scale, is not converted: it is the same in every version of the
 * resource.
 */
async function converted(
  context: RegistryContext,
  to: ServedResource | undefined,
  object: JsonObject,
): Promise<JsonObject> {
  const own = cloneJson(object);
  if (to === undefined || stringAt(own, "apiVersion") === to.apiVersion) return own;
  if (to.custom === undefined)
    return withDefaults(context, to, {
      ...convertObject(own, parseGroupVersion(stringAt(own, "apiVersion")), to.groupVersion),
      apiVersion: formatGroupVersion(to.groupVersion),
    });
  if (to.custom.convert === undefined) return { ...own, apiVersion: to.apiVersion };
  const [response] = await to.custom.convert([own], to.groupVersion);
  return response ?? own;
}

function decoded(context: RegistryContext, served: ServedResource, object: JsonObject, zeros: GoZeros): JsonObject {
  const { object: known } = decodeAs(served, object, {
    bytes: undefined,
    syntaxProblems: [],
    validation: "Ignore",
    zeros,
    problem: (_kind, _version, why) => new Error(why),
  });
  return withDefaults(context, served, known);
}
