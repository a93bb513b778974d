/** The same object in the versions that admission may want to see, and what it makes of one read again. */
import type { ObjectVersions, ServedVersion } from "../admission.ts";
import type { CatalogueGroup } from "../../../objects/catalogue/catalogue.ts";
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
  /** Everything that is served. */
  readonly groups: () => readonly CatalogueGroup[];
  /** Of built-in kinds, also of such as are never stored. */
  readonly schemaOf: (groupVersion: GroupVersion, kind: string) => StructSchema | undefined;
  readonly zeros: GoZeros;
}

interface VersionsOf {
  readonly groupVersion: GroupVersion;
  readonly resource: string;
  /** Of the object that is written. */
  readonly kind: ServedVersion["kind"];
  /** It is the resource's own, not a subresource's such as Scale. */
  readonly isOwnKind: boolean;
}

export interface Versions {
  of(what: VersionsOf): ObjectVersions;
  /** As if it had been sent in that version: unknown fields left out, defaults filled in. Throws what a decoder says. */
  decode(object: JsonObject, version: ServedVersion): JsonObject;
  /** Undefined where it is not known. */
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

/** What is of no stored kind is the same in every version. */
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
  const [answer] = await to.custom.convert([own], to.groupVersion);
  return answer ?? own;
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
