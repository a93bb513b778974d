/** Reads one object. */
import { notFound } from "../../meta/status-error.ts";
import type { Freshness } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { RegistryContext } from "./context.ts";
import { conversionOf, rejectUnreadable } from "./representation.ts";
import { objectKey, type ServedResource } from "./resource.ts";

/** Returns the object at once if it need not be read from the store or converted, as for nearly all requests. */
export function get(
  { store }: RegistryContext,
  served: ServedResource,
  { namespace, name, freshness }: { namespace: string; name: string; freshness: Freshness },
): Entry | Promise<Entry> {
  const key = objectKey(served.stored, namespace, name);
  const entry = store.getNow(key, freshness);
  if (entry !== "unknown") return readable(entry, served, name);
  return store.get(key, freshness).then((found) => readable(found, served, name));
}

function readable(entry: Entry | undefined, served: ServedResource, name: string): Entry | Promise<Entry> {
  if (entry === undefined) throw notFound(served.groupResource, name);
  rejectUnreadable(entry, served);
  const converting = served.custom === undefined ? undefined : conversionOf([entry], served);
  return converting === undefined ? entry : converting.then(() => entry);
}
