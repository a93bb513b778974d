/** Reads one object. */
import { notFound } from "../../meta/status-error.ts";
import type { Freshness } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { RegistryContext } from "./context.ts";
import { conversionOf, rejectUnreadable } from "./representation.ts";
import { objectKey, type ServedResource } from "./resource.ts";

export async function get(
  context: RegistryContext,
  served: ServedResource,
  at: { namespace: string; name: string; freshness: Freshness },
): Promise<Entry> {
  const entry = await context.store.get(objectKey(served.stored, at.namespace, at.name), at.freshness);
  if (entry === undefined) throw notFound(served.groupResource, at.name);
  rejectUnreadable(entry, served);
  if (served.custom !== undefined) await conversionOf([entry], served);
  return entry;
}
