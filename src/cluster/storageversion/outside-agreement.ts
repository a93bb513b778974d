/**
 * Prepares the start of a server that takes no part in the agreement on encodings. Such a server writes the version of
 * its release, without a guard, and publishes no entries. So that no other server relies on the agreement, it first
 * sets the condition of every StorageVersion object to Unknown, naming this server, and deletes the ConfigMap that
 * records in which versions objects are stored.
 */
import { must } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import { storagePlaceOf } from "../../objects/catalog/storage-places.ts";
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import { isEncrypted } from "../../storage/encryption/providers.ts";
import { prefixEnd, StorageError, type KeyValue, type Kv } from "../../storage/kv.ts";
import { settle } from "./agreement.ts";
import { STORAGE_STATE_KEY } from "./migration/storage-state.ts";
import { STORAGE_VERSION_TYPE, type StorageVersionStatus } from "./objects.ts";
import type { AgreementMember } from "./members.ts";

interface OutsideAgreement {
  readonly kv: Kv;
  readonly clock: Clock;
  readonly config: { readonly storageRoot: string; readonly peers: { readonly serverId: string } };
}

/** Maximum number of attempts. Each conflict means that another server has just published. */
const RACES_MAX = 20;

/** Throws a StorageError if the store fails, or if a value cannot be decrypted. */
export async function standOutsideAgreement(outside: OutsideAgreement): Promise<void> {
  const { kv, config } = outside;
  const { group, resource } = STORAGE_VERSION_TYPE;
  const start = `${config.storageRoot}${must(storagePlaceOf(group, resource), "storage versions have a place").prefix}/`;
  const { items } = await kv.range({ start, end: prefixEnd(start) });
  await Promise.all(items.map((item) => change(kv, item, (value) => withoutAgreement(outside, value))));
  const { namespace, name } = STORAGE_STATE_KEY;
  const [state] = (await kv.range({ start: `${config.storageRoot}configmaps/${namespace}/${name}` })).items;
  if (state !== undefined) await change(kv, state, () => "gone");
}

/** Returns the new value, "gone" to delete the key, or undefined to keep the value. */
type Decide = (value: Buffer) => Buffer | "gone" | undefined;

async function change(kv: Kv, found: KeyValue, decide: Decide): Promise<void> {
  const { key } = found;
  let current: KeyValue | undefined = found;
  for (let race = 0; race < RACES_MAX && current !== undefined; race++) {
    rejectEncrypted(current);
    const next = decide(current.value);
    if (next === undefined) return;
    const expectedRevision: number = current.modRevision;
    const result = await kv.commit(
      next === "gone" ? { kind: "delete", key, expectedRevision } : { kind: "put", key, value: next, expectedRevision },
    );
    if (result.committed) return;
    current = result.current;
  }
  if (current !== undefined) throw new StorageError("overloaded", `other servers keep changing ${key}`);
}

/**
 * The object of an agreement that this server cannot decrypt would stay as it is, and other servers would rely on it.
 */
function rejectEncrypted({ key, value, sealing }: KeyValue): void {
  if (sealing?.problem === undefined && !isEncrypted(value)) return;
  const why = sealing?.problem ?? "the value is encrypted, and this server has no encryption configuration";
  throw new StorageError("unavailable", `${key} cannot be changed: ${why}`);
}

function withoutAgreement({ clock, config }: OutsideAgreement, value: Buffer): Buffer | undefined {
  const object = parsed(value);
  if (object === undefined) return undefined;
  const { serverId } = config.peers;
  const status = (object["status"] ?? {}) as StorageVersionStatus;
  const others = (status.storageVersions ?? []).filter(({ apiServerID }) => apiServerID !== serverId);
  const members = [...others.map(({ apiServerID }) => apiServerID), serverId].map((id): [string, AgreementMember] => [
    id,
    { id, isPublished: id !== serverId },
  ]);
  const now = timestampAt(clock.now());
  const settled = settle({ ...status, storageVersions: others }, { live: new Map(members), now });
  const next = Buffer.from(JSON.stringify({ ...object, status: settled }));
  return next.equals(value) ? undefined : next;
}

/** Returns undefined if Evenkeel did not write the value. */
function parsed(value: Buffer): JsonObject | undefined {
  try {
    const object: unknown = JSON.parse(value.toString("utf8"));
    return isJsonObject(object) ? object : undefined;
  } catch {
    return undefined;
  }
}
