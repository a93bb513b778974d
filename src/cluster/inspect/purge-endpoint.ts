/**
 * /evenkeel/v1/purge-namespace: the way out for a namespace that holds objects which nobody will ever serve again. GET
 * lists their keys, POST with the token of that list removes exactly those.
 *
 * It goes past the registry, and so past finalizers: it touches only what no living server serves and no departed one
 * may come back for, in a namespace that is being deleted.
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
import { formatGroupResource } from "../../meta/group-version.ts";
import { badRequest, conflict, forbidden, methodNotAllowed, serviceUnavailable } from "../../meta/status-error.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import { translated } from "../../serving/registry/storage-errors.ts";
import type { Kv } from "../../storage/kv.ts";
import { recordPurge } from "./purge-record.ts";
import type { BaseEnv } from "../../base/env.ts";

export const PURGE_PATH = "/evenkeel/v1/purge-namespace";

interface PurgeParts {
  readonly env: Pick<BaseEnv, "clock" | "log" | "random">;
  readonly config: { readonly storageRoot: string };
  /** The one that does not write while this server must not. */
  readonly kv: Pick<Kv, "range" | "commit">;
  readonly client: Client;
  readonly resources: ClusterResources;
}

/** What GET answers with. */
interface Leftovers {
  readonly kind: "NamespaceLeftovers";
  readonly apiVersion: "evenkeel.io/v1";
  readonly namespace: string;
  /** What POST would remove. */
  readonly keys: readonly LeftoverKey[];
  /** How many more there are. */
  readonly more: number;
  /** Stands for the keys as they are now; absent when there are none. */
  readonly token?: string;
  /** What is in the namespace and must not be removed. */
  readonly kept: readonly { readonly resource: string; readonly objects: number; readonly because: string }[];
}

interface LeftoverKey {
  /** "resourceclaims.resource.k8s.io" */
  readonly resource: string;
  readonly name: string;
  readonly key: string;
}

/** What POST answers with. */
interface Purged {
  readonly kind: "NamespacePurged";
  readonly apiVersion: "evenkeel.io/v1";
  readonly namespace: string;
  readonly removed: number;
  /** Changed or deleted by somebody else meanwhile, and so left alone. */
  readonly changed: number;
  /** How many are left to be listed and removed. */
  readonly more: number;
}

const MASTERS = "system:masters";
/** One listing; whoever has more to remove asks again. */
const KEYS_MAX = 5_000;
const REMOVALS_AT_ONCE = 16;

/** Undefined for paths that are not its own. */
export function purgeEndpoint(parts: PurgeParts): (request: WithUser) => Promise<ApiResponse> | undefined {
  return (request) => {
    const { segments } = request.info;
    return `/${segments.join("/")}` === PURGE_PATH ? translated(() => serve(parts, request)) : undefined;
  };
}

async function serve(parts: PurgeParts, { info, query, user }: WithUser): Promise<ApiResponse> {
  if (info.verb !== "get" && info.verb !== "post") throw methodNotAllowed();
  const name = query.get("namespace") ?? "";
  if (name === "" || name.includes("/")) throw badRequest("namespace must name a namespace");
  if (info.verb === "get") return jsonResponse(200, toLeftovers(await survey(parts, name)));
  // Nothing in the store is out of reach here, whatever else users may do.
  if (!user.groups.includes(MASTERS))
    throw forbidden(NAMESPACES, name, `only members of ${MASTERS} may remove what the API does not show`);
  const token = query.get("token") ?? "";
  if (token === "") throw badRequest("token must be that of the list whose keys are to be removed");
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
}

async function survey(parts: PurgeParts, name: string): Promise<Survey> {
  const { client, resources, config, kv } = parts;
  const namespace = await client.resource<NamespaceObject>(NAMESPACE_TYPE).get({ name });
  if (!isNamespaceTerminating(namespace))
    throw conflict(NAMESPACES, name, "it is not being deleted: only what is left of a deleted namespace can be purged");
  if (!(await resources.catchUp()))
    throw serviceUnavailable("which servers there are cannot be known at present, please try again later", 1);
  const reading = { kv, storageRoot: config.storageRoot };
  const judged = judge(await namespaceParts(reading, name), resources);
  const keys: NamespaceKey[] = [];
  for (const part of judged.leftover) keys.push(...(await namespaceKeys(reading, part, KEYS_MAX - keys.length)));
  const total = judged.leftover.reduce((sum, { count }) => sum + count, 0);
  const more = Math.max(0, total - keys.length);
  return { namespace, name, keys, more, token: tokenOf(namespace, keys), kept: judged.kept };
}

/** What may be removed, and of everything else why not. */
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

/** Another one as soon as anything of it is different. */
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
    throw conflict(NAMESPACES, name, "what is left in it is not what was listed: list it again");
  const removed = await removeAll(parts, found.keys);
  const at = timestampAt(parts.env.clock.now());
  const what = `${at} by ${user}: ${countsText(removed)} that no server served`;
  parts.env.log.warn("keys of a namespace that nobody serves any more were removed", { namespace: name, what });
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
  if (kept.length === 0) return "the store holds nothing of it: the namespace controller will let it go";
  const reasons = kept.map(({ resource, objects, because }) => `${objects} ${resource}: ${because}`);
  return `nothing of what is left in it may be removed: ${reasons.join("; ")}`;
}

/** Each only if it is still what was listed. */
async function removeAll({ kv }: PurgeParts, keys: readonly NamespaceKey[]): Promise<NamespaceKey[]> {
  const removed: NamespaceKey[] = [];
  for (let at = 0; at < keys.length; at += REMOVALS_AT_ONCE) {
    const batch = keys.slice(at, at + REMOVALS_AT_ONCE);
    const results = await Promise.all(
      batch.map(({ key, revision }) => kv.commit({ kind: "delete", key, expectedRevision: revision })),
    );
    removed.push(...batch.filter((_key, index) => results[index]?.committed === true));
  }
  return removed;
}

function countsText(keys: readonly NamespaceKey[]): string {
  const counts = Map.groupBy(keys, formatGroupResource);
  return [...counts].map(([resource, { length }]) => `${length} ${resource}`).join(", ");
}
