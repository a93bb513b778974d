/**
 * Adds defaults to stored objects of built-in kinds when they are read, as kube-apiserver does: an object that a
 * kube-apiserver or an older release has stored may lack fields that this release always returns. Completeness depends
 * on the bytes and on the release of the server, so it is never recorded in the store.
 */
import type { Clock } from "../../base/clock.ts";
import { parseGroupVersion } from "../../meta/group-version.ts";
import type { IpFamily } from "../../meta/ip-address.ts";
import { jsonEquals, stringAt, type JsonObject } from "../../meta/json.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import type { Kind, KindContext } from "../../objects/kinds/kind.ts";
import type { KindOf } from "../../objects/kinds/kinds.ts";
import type { AddDefaults } from "../../storage/watch-cache/entry.ts";

interface StoredDefaultsOptions {
  readonly catalog: Catalog;
  readonly storageRoot: string;
  readonly kindOf: KindOf;
  readonly ipFamilies: readonly IpFamily[];
  readonly clock: Pick<Clock, "now">;
}

export function storedDefaults(options: StoredDefaultsOptions): AddDefaults {
  const kindAt = storedKinds(options);
  const { catalog, ipFamilies, clock } = options;
  const context: KindContext = {
    gates: gatesOf(catalog.release.name),
    ipFamilies,
    get time() {
      return timestampAt(clock.now());
    },
  };
  return (key, object, text) => {
    const kind = kindAt(key, object);
    if (kind?.setDefaults === undefined) return { object, lacksDefaults: false };
    const complete = textWithDefaults(object, kind, context);
    // Nearly all objects are complete, and equal text costs much less to compare than equal objects.
    if (complete === text) return { object, lacksDefaults: false };
    const stored = JSON.parse(text) as JsonObject;
    if (complete === undefined || jsonEquals(object, stored)) return { object: stored, lacksDefaults: false };
    return { object, lacksDefaults: true };
  };
}

/** Undefined if the fields of the object have other types than the kind: such an object is returned as it is stored. */
function textWithDefaults(object: JsonObject, kind: Kind, context: KindContext): string | undefined {
  try {
    kind.setDefaults?.(object, context);
    kind.completeStored?.(object, context);
    return JSON.stringify(object);
  } catch (thrown) {
    if (thrown instanceof TypeError || thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

/**
 * Finds the rules of a stored object by its key, because a custom resource may have the group and kind of a built-in
 * resource that this release does not have. An object in a version that the release cannot decode has no rules.
 */
function storedKinds({ catalog, storageRoot, kindOf }: StoredDefaultsOptions) {
  const kindsByPrefix = new Map<string, Map<string, Kind>>();
  for (const { storagePrefix, decodableVersions, versions } of catalog.groups.flatMap(({ resources }) => resources)) {
    if (storagePrefix === undefined) continue;
    const kinds = kindsByPrefix.get(storagePrefix) ?? new Map<string, Kind>();
    kindsByPrefix.set(storagePrefix, kinds);
    const names = new Set(versions.map(({ kind }) => kind));
    for (const apiVersion of decodableVersions)
      for (const name of names) kinds.set(`${apiVersion} ${name}`, kindOf(parseGroupVersion(apiVersion), name));
  }
  return (key: string, object: JsonObject): Kind | undefined => {
    const first = key.indexOf("/", storageRoot.length);
    const second = key.indexOf("/", first + 1);
    const at = (end: number): Map<string, Kind> | undefined => kindsByPrefix.get(key.slice(storageRoot.length, end));
    const kinds = at(first) ?? at(second);
    return kinds?.get(`${stringAt(object, "apiVersion")} ${stringAt(object, "kind")}`);
  };
}
