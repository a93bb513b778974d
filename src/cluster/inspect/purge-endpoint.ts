/**
 * Serves /evenkeel/v1/purge-namespace, which removes objects from a namespace that is being deleted, if no server will
 * serve them again. GET lists their keys; POST with the token of that list removes exactly those keys.
 *
 * The removal bypasses finalizers. Therefore it is limited to objects that no live server serves and that no recently
 * departed server may serve again.
 */
import { createHash } from "node:crypto";
import type { WithUser } from "../../access/auth/user.ts";
import type { Client } from "../../client/client.ts";
import type { ClusterResources, Doubt } from "../controllers/cluster-resources.ts";
import {
  isNamespaceTerminating,
  NAMESPACE_TYPE,
  PURGED_ANNOTATION,
  type NamespaceObject,
} from "../controllers/namespace/objects.ts";
import type { ApiResponse } from "../../serving/http/message.ts";
import { jsonResponse } from "../../serving/http/respond.ts";
import { namespaceKeys, namespaceParts, type NamespaceKey, type NamespacePart } from "./namespace-content.ts";
import { formatGroupResource, type GroupResource } from "../../meta/group-version.ts";
import { badRequest, conflict, forbidden, methodNotAllowed, serviceUnavailable } from "../../meta/status-error.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import { translated } from "../../serving/registry/storage-errors.ts";
import { prefixEnd, type Guard, type Kv } from "../../storage/kv.ts";
import { storagePlaceOf } from "../../objects/catalog/storage-places.ts";
import { STORAGE_VERSION_TYPE, storageVersionName } from "../storageversion/objects.ts";
import { must } from "../../base/assert.ts";
import { recordPurge } from "./purge-record.ts";
import type { BaseEnv } from "../../base/env.ts";

export const PURGE_PATH = "/evenkeel/v1/purge-namespace";

interface PurgeParts {
  readonly env: Pick<BaseEnv, "clock" | "log" | "random">;
  readonly config: { readonly storageRoot: string };
  /** The store that rejects writes while this server is fenced. */
  readonly kv: Pick<Kv, "range" | "commit">;
  readonly client: Client;
  readonly resources: ClusterResources;
}

/** The response to GET. */
interface Leftovers {
  readonly kind: "NamespaceLeftovers";
  readonly apiVersion: "evenkeel.io/v1";
  readonly namespace: string;
  /** The keys that POST would remove. */
  readonly keys: readonly LeftoverKey[];
  /** Number of further keys that the list omits. */
  readonly more: number;
  /** A hash of the listed keys; absent if there are none. */
  readonly token?: string;
  /** Objects in the namespace that must not be removed. */
  readonly kept: readonly { readonly resource: string; readonly objects: number; readonly because: string }[];
}

interface LeftoverKey {
  /** The resource with its group, such as "resourceclaims.resource.k8s.io". */
  readonly resource: string;
  readonly name: string;
  readonly key: string;
}

/** The response to POST. */
interface Purged {
  readonly kind: "NamespacePurged";
  readonly apiVersion: "evenkeel.io/v1";
  readonly namespace: string;
  readonly removed: number;
  /** Number of keys that were skipped because another client changed or deleted them meanwhile. */
  readonly changed: number;
  /** Number of keys that remain to be listed and removed. */
  readonly more: number;
}

const MASTERS = "system:masters";
/** Maximum number of keys in one list. Clients repeat list and removal until `more` is 0. */
const KEYS_MAX = 5_000;
const REMOVALS_AT_ONCE = 16;

/** Undefined for other paths. */
export function purgeEndpoint(parts: PurgeParts): (request: WithUser) => Promise<ApiResponse> | undefined {
  return (request) => {
    const { segments } = request.info;
    return `/${segments.join("/")}` === PURGE_PATH ? translated(() => serve(parts, request)) : undefined;
  };
}

async function serve(parts: PurgeParts, { info, query, user }: WithUser): Promise<ApiResponse> {
  if (info.verb !== "get" && info.verb !== "post") throw methodNotAllowed();
  const name = query.get("namespace") ?? "";
  if (name === "" || name.includes("/")) throw badRequest("namespace must be the name of a namespace");
  if (info.verb === "get") return jsonResponse(200, toLeftovers(await survey(parts, name)));
  // This endpoint bypasses the permissions on single resources, so RBAC roles do not suffice.
  if (!user.groups.includes(MASTERS))
    throw forbidden(NAMESPACES, name, `only members of ${MASTERS} may remove objects that no server serves`);
  const token = query.get("token") ?? "";
  if (token === "") throw badRequest("token must be the token of the list whose keys are to be removed");
  return jsonResponse(200, await purge(parts, { name, token, user: user.name }));
}

const NAMESPACES = { group: "", resource: "namespaces" } as const;

interface Survey {
  readonly namespace: NamespaceObject;
  readonly name: string;
  readonly keys: readonly NamespaceKey[];
  readonly more: number;
  readonly token: string;
  readonly kept: Leftovers["kept"];
  /** The guards with which a key of this resource may be removed. */
  readonly guardsOf: (resource: GroupResource) => readonly Guard[];
}

async function survey(parts: PurgeParts, name: string): Promise<Survey> {
  const { client, resources, config, kv } = parts;
  const namespace = await client.resource<NamespaceObject>(NAMESPACE_TYPE).get({ name });
  if (!isNamespaceTerminating(namespace))
    throw conflict(
      NAMESPACES,
      name,
      "it is not being deleted: only the content of a namespace that is being deleted can be purged",
    );
  // Read before the live servers are determined: a server that joins later publishes an entry before it stores objects.
  const guardsOf = await readGuards(parts);
  if (!(await resources.catchUp()))
    throw serviceUnavailable("the live servers are currently unknown, please try again later", 1);
  const reading = { kv, storageRoot: config.storageRoot };
  const judged = judge(await namespaceParts(reading, name), resources);
  const keys: NamespaceKey[] = [];
  for (const part of judged.leftover) keys.push(...(await namespaceKeys(reading, part, KEYS_MAX - keys.length)));
  const total = judged.leftover.reduce((sum, { count }) => sum + count, 0);
  const more = Math.max(0, total - keys.length);
  return { namespace, name, keys, more, token: tokenOf(namespace, keys), kept: judged.kept, guardsOf };
}

async function readGuards({ kv, config: { storageRoot } }: PurgeParts): Promise<Survey["guardsOf"]> {
  const { group, resource } = STORAGE_VERSION_TYPE;
  const prefix = `${storageRoot}${must(storagePlaceOf(group, resource), "storage versions have a place").prefix}/`;
  const { items } = await kv.range({ start: prefix, end: prefixEnd(prefix) });
  const revisions = new Map(items.map(({ key, modRevision }) => [key, modRevision]));
  return (of) => {
    const key = prefix + storageVersionName(of.group, of.resource);
    return [{ key, revision: revisions.get(key) ?? 0 }];
  };
}

/** Separates the keys that may be removed from the resources that must stay, with the reason for each. */
function judge(
  parts: readonly NamespacePart[],
  resources: ClusterResources,
): { readonly leftover: readonly NamespacePart[]; readonly kept: Leftovers["kept"] } {
  const served = new Set(resources.served().map(formatGroupResource));
  const doubts = resources.doubts();
  const leftover: NamespacePart[] = [];
  const kept: Leftovers["kept"][number][] = [];
  for (const part of parts) {
    const resource = formatGroupResource(part);
    const doubt = doubts.find((one) => isAbout(one, part));
    if (doubt !== undefined)
      kept.push({ resource, objects: part.count, because: `${doubt.server} ${doubt.because}, and may serve it` });
    else if (served.has(resource))
      kept.push({ resource, objects: part.count, because: "it is served, and the namespace controller deletes it" });
    else leftover.push(part);
  }
  return { leftover, kept };
}

function isAbout({ group, resource }: Doubt, part: NamespacePart): boolean {
  return (group === undefined || group === part.group) && (resource === undefined || resource === part.resource);
}

/** The token changes if the namespace is recreated, or if a listed key is added, removed or modified. */
function tokenOf({ metadata }: NamespaceObject, keys: readonly NamespaceKey[]): string {
  const hash = createHash("sha256").update(JSON.stringify([metadata?.uid]));
  for (const { key, revision } of keys) hash.update(JSON.stringify([key, revision]));
  return hash.digest("base64url");
}

function toLeftovers({ name, keys, more, token, kept }: Survey): Leftovers {
  return {
    kind: "NamespaceLeftovers",
    apiVersion: "evenkeel.io/v1",
    namespace: name,
    keys: keys.map((one) => ({ resource: formatGroupResource(one), name: one.name, key: one.key })),
    more,
    ...(keys.length === 0 ? {} : { token }),
    kept,
  };
}

async function purge(
  parts: PurgeParts,
  { name, token, user }: { readonly name: string; readonly token: string; readonly user: string },
): Promise<Purged> {
  const found = await survey(parts, name);
  if (found.keys.length === 0) throw conflict(NAMESPACES, name, nothingToRemove(found));
  if (found.token !== token)
    throw conflict(NAMESPACES, name, "its content has changed since it was listed: list it again");
  const removed = await removeAll(parts, found);
  const at = timestampAt(parts.env.clock.now());
  const what = `${at} by ${user}: ${countsText(removed)} that no server served`;
  parts.env.log.warn("removed keys of a namespace that no server serves", { namespace: name, what });
  if (removed.length > 0)
    await recordPurge(parts, { namespace: found.namespace, annotation: PURGED_ANNOTATION, what, at });
  return {
    kind: "NamespacePurged",
    apiVersion: "evenkeel.io/v1",
    namespace: name,
    removed: removed.length,
    changed: found.keys.length - removed.length,
    more: found.more,
  };
}

function nothingToRemove({ kept }: Survey): string {
  if (kept.length === 0) return "the store holds nothing of it: the namespace controller will finalize it";
  const reasons = kept.map(({ resource, objects, because }) => `${objects} ${resource}: ${because}`);
  return `none of its content may be removed: ${reasons.join("; ")}`;
}

/**
 * Removes each key only if its revision is still the listed one, and no server has published since the survey that it
 * stores the resource. The namespace needs no guard: no other namespace can take its name while it holds the key.
 */
async function removeAll({ kv }: PurgeParts, { keys, guardsOf }: Survey): Promise<NamespaceKey[]> {
  const removed: NamespaceKey[] = [];
  for (let at = 0; at < keys.length; at += REMOVALS_AT_ONCE) {
    const batch = keys.slice(at, at + REMOVALS_AT_ONCE);
    const results = await Promise.all(
      batch.map((one) =>
        kv.commit({ kind: "delete", key: one.key, expectedRevision: one.revision, guards: guardsOf(one) }),
      ),
    );
    removed.push(...batch.filter((_key, index) => results[index]?.committed === true));
  }
  return removed;
}

function countsText(keys: readonly NamespaceKey[]): string {
  const counts = Map.groupBy(keys, formatGroupResource);
  return [...counts].map(([resource, { length }]) => `${length} ${resource}`).join(", ");
}
