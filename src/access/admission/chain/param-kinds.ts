/** Reads the parameter objects of admission policies, whose kind may be any served kind, including custom resources. */
import type { VersionParts } from "./object-versions.ts";
import type { ParamKinds } from "../policies/params.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { conversionOf, objectIn } from "../../../serving/registry/representation.ts";
import { collectionPrefix, objectKey, type ServedResource } from "../../../serving/registry/resource.ts";
import { prefixEnd } from "../../../storage/kv.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";

export function createParamKinds({
  context,
  resolve,
  groups,
}: Pick<VersionParts, "context" | "resolve" | "groups">): ParamKinds {
  const { store } = context;
  return ({ group, version, kind }) => {
    const resource = groups()
      .find(({ name }) => name === group)
      ?.resources.find(({ versions }) =>
        versions.some((one) => one.version === version && one.kind === kind),
      )?.resource;
    const served = resource === undefined ? undefined : resolve(group, version, resource)?.served;
    if (resource === undefined || served === undefined) return undefined;
    return {
      resource,
      isNamespaced: served.stored.namespaced,
      async get(namespace, name) {
        const key = objectKey(served.stored, namespace, name);
        const entry = store.cache.get(key) ?? (await store.get(key, { kind: "newest" }));
        return entry === undefined ? undefined : (await shown([entry], served))[0];
      },
      list(namespace) {
        const prefix = collectionPrefix(served.stored, namespace);
        return shown(store.cache.range(prefix, prefixEnd(prefix)), served);
      },
    };
  };
}

async function shown(entries: readonly Entry[], served: ServedResource): Promise<JsonObject[]> {
  await conversionOf(entries, served);
  const { apiVersion, kind } = served;
  return entries.map((entry) => ({ apiVersion, kind, ...objectIn(entry, served) }));
}
