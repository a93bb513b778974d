/**
 * Finds out whether a body has another kind than the path serves, and creates the error message of kube-apiserver for
 * it.
 */
import { parseGroupVersion } from "../../meta/group-version.ts";
import type { ServedResource } from "../registry/resource.ts";

/** The kind and apiVersion of a body. If the body omits one of them, the caller passes that of the served resource. */
interface BodyKind {
  readonly kind: string;
  readonly apiVersion: string;
}

type OtherKind =
  /** The apiVersion is malformed. */
  | { readonly is: "malformed"; readonly why: string }
  /** The body has the served kind in another API version. */
  | { readonly is: "version"; readonly why: string }
  | { readonly is: "kind"; readonly why: string };

const SCHEME = "pkg/api/legacyscheme/scheme.go:30";
/**
 * The schemes of the API servers that kube-apiserver embeds, keyed by group. Each scheme has only the kinds of its own
 * server, and the main scheme does not have these kinds.
 */
const OWN_SCHEMES: ReadonlyMap<string, string> = new Map([
  ["apiextensions.k8s.io", "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"],
  ["apiregistration.k8s.io", "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28"],
]);
/** Kinds of version v1 that every scheme has. */
const META_KINDS: ReadonlySet<string> = new Set([
  ...["Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList", "WatchEvent"],
  ...["GetOptions", "ListOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "DeleteOptions"],
]);
const EVENTS_GROUP = "events.k8s.io";

/** Returns undefined if the body has the kind and apiVersion that the path serves. */
export function otherKind(served: ServedResource, { kind, apiVersion }: BodyKind): OtherKind | undefined {
  if (apiVersion === served.apiVersion && kind === served.kind) return undefined;
  if (apiVersion.split("/").length > 2)
    return { is: "malformed", why: `unexpected GroupVersion string: ${apiVersion}` };
  const { group } = served.groupVersion;
  const given = parseGroupVersion(apiVersion);
  if (!isRegistered(served, { kind, apiVersion }))
    return {
      is: "kind",
      why: `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "${schemeOf(group)}"`,
    };
  if (kind === served.kind && internalPackage(given.group) === internalPackage(group))
    return {
      is: "version",
      why: `the API version in the data (${apiVersion}) does not match the expected API version (${served.apiVersion})`,
    };
  const wanted = `${internalPackage(group)}.${served.kind}`;
  return { is: "kind", why: `converting (${given.version}.${kind}) to (${wanted}): unknown conversion` };
}

function schemeOf(group: string): string {
  return OWN_SCHEMES.get(group) ?? SCHEME;
}

function isRegistered(served: ServedResource, { kind, apiVersion }: BodyKind): boolean {
  const given = parseGroupVersion(apiVersion);
  if (apiVersion === "v1" && META_KINDS.has(kind)) return true;
  if (schemeOf(given.group) !== schemeOf(served.groupVersion.group)) return false;
  return (apiVersion === "v1" && kind === "List") || served.schemaOf(given, kind) !== undefined;
}

/**
 * The Go package of a group's internal kinds, as kubernetes prints it. Events have the same package in both of their
 * groups.
 */
function internalPackage(group: string): string {
  const [first = ""] = group.split(".");
  return group === "" || group === EVENTS_GROUP ? "core" : first;
}
