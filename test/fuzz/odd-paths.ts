/** Generates requests that address no particular object: other paths, other methods, and slightly wrong paths. */
import type { Dice, Weighted } from "./dice.ts";
import { hostileString } from "./hostile-values.ts";
import { collectionPath, type Target } from "./targets.ts";

const FIXED: readonly string[] = [
  "/",
  "//",
  "",
  "/api",
  "/api/",
  "/api/v1",
  "/api/v2",
  "/apis",
  "/apis/",
  "/apis/apps",
  "/apis/apps/v1",
  "/apis/apps/v9",
  "/apis/__proto__/v1/constructor",
  "/apis/constructor",
  "/api/__proto__",
  "/healthz",
  "/healthz/ping",
  "/healthz/__proto__",
  "/livez?verbose",
  "/livez?exclude=x&exclude=__proto__",
  "/readyz?verbose&exclude=ping",
  "/readyz/poststarthook/",
  "/metrics",
  "/metrics/slis",
  "/metrics/x",
  "/version",
  "/version/x",
  "/openapi/v2",
  "/openapi/v3",
  "/openapi/v3/api/v1",
  "/openapi/v3/apis/apps/v1",
  "/openapi/v3/apis/apps/v1?hash=x",
  "/openapi/v3/../v2",
  "/openapi/v3/__proto__",
  "/evenkeel/v1/status",
  "/evenkeel/v1/route",
  "/evenkeel/v1/route?verb=get&path=/api/v1/pods",
  "/evenkeel/v1/route?verb=%00&path=%ff",
  "/evenkeel/v1/route?verb=get&path=//&contentType=;;&compatibilityVersion=x",
  "/evenkeel/v1/stored-versions",
  "/evenkeel/v1/rollback-check?to=1.28",
  "/evenkeel/v1/rollback-check?to=__proto__",
  "/evenkeel/v1/locate?kind=x",
  "/evenkeel/v1/__proto__",
  "/logs",
  "/swagger.json",
  "/.well-known/openid-configuration",
  "/openid/v1/jwks",
  "*",
];

const METHODS: Weighted<string> = [
  [10, "GET"],
  [2, "POST"],
  [2, "PUT"],
  [2, "PATCH"],
  [2, "DELETE"],
  [1, "HEAD"],
  [1, "OPTIONS"],
  [0.5, "TRACE"],
  [0.5, "CONNECT"],
  [0.5, "PROPFIND"],
];

export interface OddRequest {
  readonly method: string;
  readonly path: string;
}

export function oddRequest(dice: Dice, target: Target): OddRequest {
  const path = dice.chance(0.4) ? dice.pick(FIXED) : damagedPath(collectionPath(target), dice);
  return { method: dice.weighted(METHODS), path };
}

const NAMES: readonly string[] = [
  "%2f",
  "%00",
  ".",
  "..",
  "%2e%2e",
  "%",
  "%zz",
  "%c0%af",
  "%f0%9f%92%a5",
  "a%20b",
  "__proto__",
  "constructor",
  ":",
  "a:b:c:d",
  "http:a:80",
  "~1",
  ";a=b",
  "a,b",
  "x".repeat(300),
  "x".repeat(8_000),
];

function damagedPath(collection: string, dice: Dice): string {
  const parts = collection.split("/");
  return dice.weighted<() => string>([
    [3, () => `${collection}/${dice.pick(NAMES)}`],
    [
      2,
      () =>
        `${collection}/f1/${dice.pick(["status", "scale", "log", "proxy", "proxy/a/../b", "x", "__proto__", "", "/"])}`,
    ],
    [2, () => replaced(parts, dice)],
    [1, () => collection.replace(/^\/(api\/[^/]*|apis\/[^/]*\/[^/]*)\//, "$&watch/")],
    [
      1,
      () =>
        `/api/v1/watch/${dice.pick(["", "pods", "namespaces", "namespaces/default", "namespaces/default/pods/f1", "x/y/z"])}`,
    ],
    [1, () => `/api/v1/namespaces/${dice.pick(NAMES)}/${dice.pick(["pods", "finalize", "status", "x", ""])}`],
    [1, () => parts.join("//")],
    [1, () => `${collection}/`],
    [1, () => collection.toUpperCase()],
    [1, () => parts.slice(0, dice.int(parts.length)).join("/")],
    [1, () => `/${"a/".repeat(dice.pick([10, 1_000]))}`],
    [1, () => `${collection}?${encodeURIComponent(hostileString(dice).toWellFormed())}`],
    [1, () => `${collection}?${"a=b&".repeat(1_000)}`],
    [1, () => `${collection}?${dice.pick(["%", "%zz=%zz", "=", "&&&", "a", "a==b", "?", "[a]=b", "__proto__=1"])}`],
  ])();
}

function replaced(parts: readonly string[], dice: Dice): string {
  const at = dice.int(parts.length - 1) + 1;
  return parts.with(at, dice.pick(NAMES)).join("/");
}
