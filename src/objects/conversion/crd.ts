/** Converts CustomResourceDefinitions between v1 and v1beta1, in which kube-apiserver stores them. */
import { isJsonObject, jsonEquals, stringAt, type JsonObject } from "../../meta/json.ts";
import { omitMembers, presentMembers, renameMembers, updateItems, updateObject } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

/**
 * No release serves v1beta1, and this server stores CRDs in v1, but every release can decode v1beta1 from the store.
 */
export const CRD_SHAPES: readonly KindShapes[] = Object.freeze([
  {
    kinds: ["CustomResourceDefinition"],
    hub: ["apiextensions.k8s.io/v1"],
    spokes: [
      {
        versions: ["apiextensions.k8s.io/v1beta1"],
        toHub: (crd) => updateObject(crd, "spec", toV1Spec),
        fromHub: (crd) => updateObject(crd, "spec", toV1beta1Spec),
      },
    ],
  },
]);

/**
 * Fields that v1beta1 has in the spec, instead of in each version, if all versions have the same value. Maps the name
 * in a version to the name in the spec.
 */
const SHARED_MEMBERS: Readonly<Record<string, string>> = Object.freeze({
  schema: "validation",
  subresources: "subresources",
  additionalPrinterColumns: "additionalPrinterColumns",
  selectableFields: "selectableFields",
});

const V1BETA1_SPEC_MEMBERS: readonly string[] = Object.freeze(["version", ...Object.values(SHARED_MEMBERS)]);

function toV1Spec(spec: JsonObject): JsonObject {
  const shared = Object.fromEntries(Object.entries(SHARED_MEMBERS).map(([key, sharedKey]) => [key, spec[sharedKey]]));
  const named = stringAt(spec, "version");
  const listed = Array.isArray(spec["versions"]) ? spec["versions"] : [];
  const versions = listed.length === 0 && named !== "" ? [{ name: named, served: true, storage: true }] : listed;
  const own = omitMembers(spec, [...V1BETA1_SPEC_MEMBERS, "preserveUnknownFields"]);
  const reshaped = updateItems({ ...own, versions }, "versions", (version) =>
    renameColumns({ ...version, ...presentMembers(shared) }, { JSONPath: "jsonPath" }),
  );
  return {
    ...updateObject(reshaped, "conversion", nestWebhook),
    ...(spec["preserveUnknownFields"] !== false && { preserveUnknownFields: true }),
  };
}

/** Unlike v1, v1beta1 preserves unknown fields by default. */
function toV1beta1Spec(spec: JsonObject): JsonObject {
  const own = omitMembers(spec, V1BETA1_SPEC_MEMBERS);
  const reshaped = updateItems(own, "versions", (version) => renameColumns(version, { jsonPath: "JSONPath" }));
  return {
    ...updateObject(hoistSharedMembers(reshaped), "conversion", flattenWebhook),
    preserveUnknownFields: spec["preserveUnknownFields"] === true,
  };
}

function hoistSharedMembers(spec: JsonObject): JsonObject {
  const versions = spec["versions"];
  if (!Array.isArray(versions) || versions.length === 0 || !versions.every(isJsonObject)) return spec;
  const [first = {}] = versions;
  const agreed = Object.keys(SHARED_MEMBERS).filter((key) =>
    versions.every((version) => jsonEquals(version[key] ?? null, first[key] ?? null)),
  );
  return {
    ...spec,
    version: first["name"],
    ...presentMembers(Object.fromEntries(agreed.map((key): [string, unknown] => [SHARED_MEMBERS[key]!, first[key]]))),
    versions: versions.map((version) => omitMembers(version, agreed)),
  };
}

function renameColumns(version: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  return updateItems(version, "additionalPrinterColumns", (column) => renameMembers(column, names));
}

function nestWebhook(conversion: JsonObject): JsonObject {
  const { webhookClientConfig, conversionReviewVersions, ...own } = omitMembers(conversion, ["webhook"]);
  const webhook = presentMembers({ clientConfig: webhookClientConfig, conversionReviewVersions });
  if (Object.keys(webhook).length === 0) return own;
  return { ...own, webhook: { ...webhook, conversionReviewVersions: conversionReviewVersions ?? null } };
}

function flattenWebhook(conversion: JsonObject): JsonObject {
  const { webhook, ...own } = omitMembers(conversion, ["webhookClientConfig", "conversionReviewVersions"]);
  if (!isJsonObject(webhook)) return own;
  const { clientConfig, conversionReviewVersions } = webhook;
  return { ...own, ...presentMembers({ webhookClientConfig: clientConfig, conversionReviewVersions }) };
}
