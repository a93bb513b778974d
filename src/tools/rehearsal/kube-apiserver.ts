/**
 * Configures a simulated server to behave like a kube-apiserver of one release. The server code is Evenkeel's, so
 * everything that Evenkeel does better has to be switched off here, or the rehearsal of a kubeadm cluster would pass
 * although its clients get wrong responses. docs/rehearse.md lists what remains different.
 */
import { isJsonObject, objectAt, objectsAt, stringAt } from "../../meta/json.ts";
import { RELEASES, type ReleaseName } from "../../objects/catalog/release.ts";
import type { ApiResponse } from "../../serving/http/message.ts";
import { pageNotFound } from "../../serving/http/respond.ts";
import type { Handle, RunOptions } from "../simulator/server.ts";
import { readAsRelease } from "./kube-store.ts";
import { isKubernetes, type RehearsalSubject } from "./subject.ts";

/** The first release whose proxy merges discovery documents. */
const MERGES_DISCOVERY: ReleaseName = "1.35";
const PROXY_ON = "UnknownVersionInteroperabilityProxy=true";
/**
 * The controllers without which objects with a protection finalizer would stay forever. kube-controllers.ts has the
 * garbage collector and the namespace controller, with the rules of kube-controller-manager.
 */
const CONTROLLERS: readonly string[] = [
  "persistentvolumeclaim-protection-controller",
  "persistentvolume-protection-controller",
  "volumeattributesclass-protection-controller",
];
/** For these reasons, Evenkeel's proxy returns 503, and kube-apiserver 404. */
const NOT_FOUND_RULES: ReadonlySet<string> = new Set([
  "not-synced",
  "peer-not-described",
  "departed",
  "proxied-but-not-served-here",
]);

/** The options with which a simulated server plays the subject as the release. */
export function runOptionsOf(
  subject: RehearsalSubject,
  release: ReleaseName,
  runtimeConfig: readonly string[],
): RunOptions {
  if (!isKubernetes(subject)) return { release, runtimeConfig, mixedVersionProxy: subject === "evenkeel" };
  const hasProxy = subject === "kube-apiserver-with-proxy";
  const mergesDiscovery = hasProxy && RELEASES.indexOf(release) >= RELEASES.indexOf(MERGES_DISCOVERY);
  return {
    release,
    runtimeConfig,
    strictRelease: true,
    mixedVersionProxy: hasProxy,
    featureGates: hasProxy ? [PROXY_ON] : [],
    controllers: CONTROLLERS,
    peers: {
      routing: "documents",
      fieldLoss: "warn",
      discoveryMode: mergesDiscovery ? "merged" : "local",
      discoveryMergeScope: "aggregated",
    },
    wrapKv: (kv) => readAsRelease(kv, release),
    ...(hasProxy && { wrapHandle: withoutDoubt }),
  };
}

/** Returns 404 where Evenkeel waits for knowledge about other servers. */
function withoutDoubt(handle: Handle): Handle {
  return async (request) => {
    const response = await handle(request);
    return response.status === 503 && NOT_FOUND_RULES.has(ruleOf(response)) ? pageNotFound() : response;
  };
}

/** The rule of the proxy that a 503 names; "" if it names none. */
function ruleOf({ body }: ApiResponse): string {
  if (body.kind !== "bytes") return "";
  const status: unknown = JSON.parse(Buffer.concat(body.chunks).toString("utf8"));
  if (!isJsonObject(status)) return "";
  const rule = objectsAt(objectAt(status, "details"), "causes").find((cause) => cause["field"] === "rule");
  return rule === undefined ? "" : stringAt(rule, "message");
}
