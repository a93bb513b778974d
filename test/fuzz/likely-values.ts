/** Chooses a likely value of a field by the field's name, so that servers accept many of the generated objects. */
import type { Dice } from "./dice.ts";

const STRINGS: readonly (readonly [field: RegExp, values: readonly string[]])[] = [
  [/^image$/, ["main", "registry.example/app:1"]],
  [/^finalizers$/, ["example.com/hold", "example.com/keep"]],
  [/^namespace$/, ["default"]],
  [/^apiVersion$|^groupVersion$/, ["v1", "apps/v1"]],
  [/^kind$/, ["ConfigMap", "Deployment", "User"]],
  [/^apiGroups?$/, ["", "apps", "rbac.authorization.k8s.io"]],
  [/^protocol$/, ["TCP", "UDP", "SCTP"]],
  [/cidrs?$/i, ["10.0.0.0/24", "fd00::/64"]],
  [/(^|[a-z])ips?$|IPs?$|^address(es)?$/i, ["10.0.0.7", "192.0.2.1", "fd00::7"]],
  [/^hosts?$|hostname|domain/i, ["a.example.com", "b.example.com"]],
  [/topologyKeys?$/, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]],
  [/[pP]ath$/, ["/a", "/a/b"]],
  [/^schedule$/, ["*/5 * * * *", "0 3 * * 1", "@hourly"]],
  [/^timeZone$/, ["Etc/UTC", "Europe/Berlin"]],
  [/[uU][iI][dD]$/, ["8b3f5c0e-0000-4000-8000-000000000001"]],
  [/expression$|^selectors?$|^rule$/i, ["true", "1 + 1 == 2"]],
  [/^url$|URL$/, ["https://a.example.com/hook"]],
  [/^operator$/, ["In", "NotIn", "Exists", "DoesNotExist", "Equal"]],
  [/^key$|Key$/, ["app", "example.com/key"]],
  [/^values?$/, ["a", "b"]],
  [/^verbs$/, ["get", "list", "*"]],
  [/^resources?$/, ["pods", "deployments", "*"]],
  [/^type$/, ["Ready", "Available", "Resource"]],
  [/^status$/, ["True", "False", "Unknown"]],
  [/^reason$/, ["Because", "Done"]],
  [/[dD]river(Name)?$|^provisioner$|^attacher$/, ["driver.example.com"]],
  [/^nodeName$/, ["node-a"]],
  [/[mM]ode$/, ["Filesystem", "Block", "Auto"]],
  [/[pP]olic(y|ies)$/, ["Always", "Never", "IfNotPresent", "Delete", "Retain"]],
];
const NAMES: readonly string[] = ["a", "b", "main", "web-1"];

export function likelyString(field: string, dice: Dice): string {
  const known = STRINGS.find(([pattern]) => pattern.test(field));
  return dice.pick(known === undefined ? NAMES : known[1]);
}

export function likelyInteger(field: string, dice: Dice): number {
  if (/port$/i.test(field)) return dice.pick([80, 443, 8080, 30_080]);
  if (/percent|weight|utilization|value/i.test(field)) return dice.between(1, 100);
  if (/seconds$/i.test(field)) return dice.between(1, 600);
  return dice.between(0, 5);
}

export function likelyQuantity(dice: Dice): string {
  return dice.pick(["1", "100m", "1Gi", "64Mi", "500M", "0"]);
}

export function likelyTime(dice: Dice, isMicro: boolean): string {
  return `2030-01-0${dice.between(1, 9)}T00:00:00${isMicro ? ".000001" : ""}Z`;
}

export function likelyKey(dice: Dice): string {
  return dice.pick(["app", "tier", "example.com/key", "cpu", "memory", "a"]);
}
