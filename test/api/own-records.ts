/**
 * What a server writes to say that it lives (its identity lease), where it is reached (its endpoint record) and what it
 * serves: anew at every start, whatever is there already. Everything else under its name is an object, which a server
 * makes once. The keys are spelled out, so that nothing else passes for one of these.
 */
import { prefixEnd, type Kv } from "../../src/storage/kv.ts";
import type { TestServer } from "./start.ts";

const OWN_RECORDS: readonly RegExp[] = [
  /^\/registry\/leases\/kube-system\/apiserver-[a-z2-7]{26}$/,
  /^\/registry\/peerserverleases\/apiserver-[a-z2-7]{26}$/,
  /^\/registry\/evenkeel\/served\/apiserver-[a-z2-7]{26}\/[0-9a-f-]{36}$/,
];

export function isOwnRecord(key: string): boolean {
  return OWN_RECORDS.some((pattern) => pattern.test(key));
}

/** Key and revision of everything in the store that is an object: equal only if none was written, made or deleted. */
export async function storedObjects(kv: Kv): Promise<string[]> {
  const { items } = await kv.range({ start: "/registry/", end: prefixEnd("/registry/") });
  return items.filter(({ key }) => !isOwnRecord(key)).map(({ key, modRevision }) => `${key} ${modRevision}`);
}

/** A server follows the identity leases through its own front door, once. */
export const OWN_WATCHES_COUNT = 1;

/** Watches of clients. */
export async function openWatches(server: TestServer): Promise<number> {
  return (await server.metric("evenkeel_open_watches")) - OWN_WATCHES_COUNT;
}
