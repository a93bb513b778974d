/**
 * Helpers that ignore the records that a server writes at every start: its identity lease, its starting
 * record, its endpoint record, its masterlease and its served record. A server creates all other objects only once. The keys are spelled out, so that no other key matches.
 */
import { prefixEnd, type Kv } from "../../src/storage/kv.ts";
import type { TestServer } from "./start.ts";

const OWN_RECORDS: readonly RegExp[] = [
  /^\/registry\/leases\/kube-system\/apiserver-[a-z2-7]{26}$/,
  /^\/registry\/peerserverleases\/apiserver-[a-z2-7]{26}$/,
  /^\/registry\/masterleases\/192\.0\.2\.\d+$/,
  /^\/registry\/evenkeel\/starting\/apiserver-[a-z2-7]{26}\/[0-9a-f-]{36}$/,
  /^\/registry\/evenkeel\/served\/apiserver-[a-z2-7]{26}\/[0-9a-f-]{36}$/,
];

export function isOwnRecord(key: string): boolean {
  return OWN_RECORDS.some((pattern) => pattern.test(key));
}

/**
 * Key and revision of every stored object except these records. Two results are equal only if no object was created,
 * changed or deleted in between.
 */
export async function storedObjects(kv: Kv): Promise<string[]> {
  const { items } = await kv.range({ start: "/registry/", end: prefixEnd("/registry/") });
  return items.filter(({ key }) => !isOwnRecord(key)).map(({ key, modRevision }) => `${key} ${modRevision}`);
}

/** The number of watches of the server itself: one, of the identity leases. */
export const OWN_WATCHES_COUNT = 1;

/** The number of watches of clients that are open. */
export async function openWatches(server: TestServer): Promise<number> {
  return (await server.metric("evenkeel_open_watches")) - OWN_WATCHES_COUNT;
}
