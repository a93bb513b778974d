/** Generates request headers: most are as clients send them, some are hostile. */
import type { Dice, Weighted } from "./dice.ts";
import { hostileString } from "./hostile-values.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

const ACCEPTS: readonly string[] = [
  "application/json",
  "*/*",
  "application/*",
  "",
  "application/yaml",
  TABLE,
  `${TABLE},application/json`,
  PARTIAL,
  "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
  "application/yaml;as=Table;v=v1beta1;g=meta.k8s.io",
  "application/json;as=Table;v=v2;g=meta.k8s.io",
  "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
  "application/json;as=__proto__;v=constructor;g=toString",
  "application/vnd.kubernetes.protobuf",
  "application/vnd.kubernetes.protobuf,application/json",
  "application/cbor",
  "application/json;stream=watch",
  "application/json;pretty=1",
  "text/html",
  "application/json;q=0",
  "application/json;q=x,*/*;q=0.1",
  ";;;===,,,",
  `${"a/b;c=d,".repeat(200)}application/json`,
];

const CONTENT_TYPES: readonly string[] = [
  "application/json; charset=utf-8",
  "application/json;charset=utf-16",
  "APPLICATION/JSON",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
  "application/cbor",
  "text/plain",
  "application/x-www-form-urlencoded",
  "",
  ";",
  "application/merge-patch+json",
  "application/apply-patch+yaml",
];

const OTHERS: Weighted<(dice: Dice) => readonly [name: string, value: string]> = [
  [2, (dice) => ["user-agent", headerText(hostileString(dice))]],
  [1, (dice) => ["if-none-match", dice.pick(["*", '"x"', "W/", headerText(hostileString(dice))])]],
  [1, (dice) => ["accept-encoding", dice.pick(["gzip", "identity;q=0", "*", "br", headerText(hostileString(dice))])]],
  [1, (dice) => ["x-kubernetes-compatibility-version", dice.pick(["1.36", "1.99", "-1", "x", "1.36.4.5", "1e3"])]],
  [1, (dice) => ["x-kubernetes-if-ready", dice.pick(["true", "false", "x"])]],
  [1, () => ["x-kubernetes-peer-proxied", "true"]],
  [1, (dice) => ["x-remote-user", headerText(hostileString(dice))]],
  [1, (dice) => ["impersonate-user", headerText(hostileString(dice))]],
  [1, (dice) => ["impersonate-group", headerText(hostileString(dice))]],
  [1, (dice) => ["impersonate-extra-a%2fb%zz", headerText(hostileString(dice))]],
  [1, (dice) => ["authorization", dice.pick(["Bearer ", "Bearer x", "Basic !!!", "Bearer a.b.c", ""])]],
  [1, (dice) => ["content-length", dice.pick(["0", "-1", "1e9", "x"])]],
  [1, (dice) => ["content-encoding", dice.pick(["gzip", "deflate", "x"])]],
  [1, (dice) => ["connection", dice.pick(["upgrade", "close"])]],
  [1, (dice) => ["upgrade", dice.pick(["websocket", "SPDY/3.1", "h2c"])]],
  [1, (dice) => ["audit-id", headerText(hostileString(dice))]],
];

export type Headers = Readonly<Record<string, string>>;

/** The headers of a request, sometimes with another content type or with headers that the request does not need. */
export function randomHeaders(contentType: string | undefined, dice: Dice): Headers {
  const headers: Record<string, string> = contentType === undefined ? {} : { "content-type": contentType };
  if (dice.chance(0.1)) headers["accept"] = dice.pick(ACCEPTS);
  if (contentType !== undefined && dice.chance(0.02)) headers["content-type"] = dice.pick(CONTENT_TYPES);
  if (dice.chance(0.06)) {
    const [name, value] = dice.weighted(OTHERS)(dice);
    headers[name] = value;
  }
  return headers;
}

export function randomAccept(dice: Dice): string {
  return dice.pick(ACCEPTS);
}

/** Text that an HTTP parser accepts: Latin-1 without control characters and surrounding spaces. */
function headerText(text: string): string {
  return Buffer.from(text.toWellFormed())
    .toString("latin1")
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "?")
    .slice(0, 8_000)
    .trim();
}
