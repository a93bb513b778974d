/**
 * Extended routing: determines which features a request needs besides the resource itself, such as a field selector or
 * a patch type, and which peers support them.
 */
import { PATCH_TYPES } from "../../serving/endpoints/patch.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import { headerValue } from "../../serving/http/message.ts";
import { openCatalog, type Catalog } from "../../objects/catalog/catalog.ts";
import { isReleaseName } from "../../objects/catalog/release.ts";
import { parseFieldSelector } from "../../meta/field-selector.ts";
import { hasPlaceFor } from "../../objects/unknown-fields.ts";
import type { CapabilityNeed, ClusterView, NamedFieldsNeed, ResourceQuestion } from "./view.ts";

const SELECTING_VERBS: ReadonlySet<string> = new Set(["list", "watch", "deletecollection"]);

/** The patch types that kube-apiserver can apply in all supported releases. */
const KUBE_PATCH_TYPES: ReadonlySet<string> = new Set([...PATCH_TYPES, "application/apply-patch+cbor"]);

type Needing = Pick<WithInfo, "info" | "query" | "headers">;

type UnmetNeed = (request: Needing) => CapabilityNeed | undefined;

/**
 * With --peer-routing=documents a request has no needs: only extended routing considers more than discovery documents.
 */
export function createUnmetNeed(catalog: Catalog, routing: "documents" | "extended"): UnmetNeed {
  return routing === "extended" ? (request) => unmetNeed(catalog, request) : () => undefined;
}

/** The feature that the local server lacks; undefined if it would not reject the request for lack of a feature. */
function unmetNeed(catalog: Catalog, request: Needing): CapabilityNeed | undefined {
  const { verb } = request.info;
  if (verb === "patch") return unmetPatchType(request);
  if (!SELECTING_VERBS.has(verb)) return undefined;
  const selector = request.query.get("fieldSelector");
  if (selector === undefined || selector === "") return undefined;
  const known = selectableLabels(catalog, request.info);
  const labels = selectedLabels(selector).filter((label) => known !== undefined && !known.has(label));
  return labels.length === 0 ? undefined : { kind: "field-selector", labels };
}

function unmetPatchType(request: Needing): CapabilityNeed | undefined {
  const [patchType = ""] = (headerValue(request.headers, "content-type") ?? "").split(";");
  return PATCH_TYPES.has(patchType.trim()) ? undefined : { kind: "patch-type", patchType: patchType.trim() };
}

/**
 * The field labels in the selector; empty if it cannot be parsed, because every server rejects it with the same
 * message.
 */
function selectedLabels(selector: string): string[] {
  try {
    return parseFieldSelector(selector).map(({ field }) => field);
  } catch {
    return [];
  }
}

function selectableLabels(catalog: Catalog, asked: Omit<ResourceQuestion, "subresource">): Set<string> | undefined {
  const { group, version, resource } = asked;
  const found = catalog.resource(group, resource)?.versions.find((candidate) => candidate.version === version);
  return found && new Set([...found.fieldSelectors, ...Object.keys(found.fieldSelectorAliases)]);
}

/**
 * Decides whether a peer supports a feature that the local server lacks. Field selectors and fields are looked up in
 * the catalog of the release of the peer; without a known release the result is false. Only a kube-apiserver supports
 * further patch types, because all Evenkeel servers accept the same ones.
 */
export function createSupports(): ClusterView["supports"] {
  const catalogs = new Map<string, Catalog>();
  return ({ release, kube }, asked, need) => {
    if (need.kind === "patch-type") return kube !== undefined && KUBE_PATCH_TYPES.has(need.patchType);
    if (release === undefined || !isReleaseName(release)) return false;
    const catalog = catalogs.get(release) ?? openCatalog({ release });
    catalogs.set(release, catalog);
    if (need.kind === "fields") return hasFields(catalog, need);
    const known = selectableLabels(catalog, asked);
    return known !== undefined && need.labels.every((label) => known.has(label));
  };
}

function hasFields({ schemas }: Catalog, { of, paths }: NamedFieldsNeed): boolean {
  const schema = schemas.kind(of.group, of.version, of.kind);
  return schema !== undefined && paths.every((path) => hasPlaceFor(schema, path));
}
