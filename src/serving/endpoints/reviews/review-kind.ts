/** The served kinds of reviews. A review is decoded and rendered like an object of any other kind, but never stored. */
import { formatGroupVersion } from "../../../meta/group-version.ts";
import type { ServedResource } from "../../registry/resource.ts";
import { strategyFor } from "../../registry/strategies.ts";
import type { ResourceEndpoint } from "../endpoint.ts";
import type { ReviewPorts } from "./ports.ts";

export function reviewKind(
  { group, version, resource, kind, namespaced }: ResourceEndpoint,
  { schemaOf, gates }: Pick<ReviewPorts<never>, "schemaOf" | "gates">,
): ServedResource {
  const groupVersion = { group, version };
  const apiVersion = formatGroupVersion(groupVersion);
  const schema = schemaOf(groupVersion, kind);
  if (schema === undefined) throw new Error(`the catalog has no schema for ${apiVersion} ${kind}`);
  const neverStored = (): Promise<never> => Promise.reject(new Error(`${kind} is never stored`));
  return {
    stored: {
      group,
      resource,
      namespaced,
      keyPrefix: "",
      storageVersion: groupVersion,
      encoding: { current: neverStored, deletionGuard: neverStored },
      strategy: strategyFor(group, resource, { hasStatus: false, eventTtlSeconds: 0 }),
    },
    groupResource: { group, resource },
    groupVersion,
    apiVersion,
    kind,
    listKind: `${kind}List`,
    meaning: {},
    gates,
    schema,
    schemaOf: (other, of = kind) => schemaOf(other, of),
    table: { columns: [], cells: () => [] },
    fieldSelectors: [],
    fieldSelectorErrorStyle: "default",
    fieldSelectorAliases: {},
    objectHead: Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`),
  };
}
