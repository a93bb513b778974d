/** Warnings about valid Services with deprecated or ignored fields. */
import { objectAt, specOf, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { KindContext } from "../../kind.ts";
import { cidrWarnings, ipWarnings } from "../../network/ip-checks.ts";
import { HEADLESS } from "./service-fields.ts";

const TOPOLOGY_MODE = "service.kubernetes.io/topology-mode";
const TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints";

export function* serviceWarnings(
  service: JsonObject,
  _existing: JsonObject | undefined,
  context: KindContext,
): Generator<string> {
  const spec = specOf(service);
  if (objectAt(objectAt(service, "metadata"), "annotations")[TOPOLOGY_HINTS] !== undefined)
    yield `annotation ${TOPOLOGY_HINTS} is deprecated, please use ${TOPOLOGY_MODE} instead`;
  const isHeadless = spec["type"] === "ClusterIP" && spec["clusterIP"] === HEADLESS;
  if (stringAt(spec, "clusterIP") !== HEADLESS)
    for (const [index, ip] of stringsAt(spec, "clusterIPs").entries())
      yield* ipWarnings(ip, `spec.clusterIPs[${index}]`);
  if (isHeadless) yield* headlessWarnings(spec);
  yield* externalIpWarnings(spec, isHeadless, context);
  if (stringAt(spec, "loadBalancerIP") !== "")
    yield* ipWarnings(stringAt(spec, "loadBalancerIP"), "spec.loadBalancerIP");
  for (const [index, range] of stringsAt(spec, "loadBalancerSourceRanges").entries())
    yield* cidrWarnings(range, `spec.loadBalancerSourceRanges[${index}]`);
  yield* externalNameWarnings(spec);
  if (spec["trafficDistribution"] === "PreferClose" && context.gates.isOn("ServicePreferCloseDeprecated"))
    yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"';
}

function* headlessWarnings(spec: JsonObject): Generator<string> {
  if (stringAt(spec, "loadBalancerIP") !== "") yield "spec.loadBalancerIP is ignored for headless services";
  if (stringsAt(spec, "externalIPs").length > 0) yield "spec.externalIPs is ignored for headless services";
  if (spec["sessionAffinity"] !== "None") yield "spec.SessionAffinity is ignored for headless services";
}

function* externalIpWarnings(spec: JsonObject, isHeadless: boolean, { gates }: KindContext): Generator<string> {
  const ips = stringsAt(spec, "externalIPs");
  for (const [index, ip] of ips.entries()) yield* ipWarnings(ip, `spec.externalIPs[${index}]`);
  const isUsed = ips.length > 0 && !isHeadless && spec["type"] !== "ExternalName";
  if (isUsed && gates.isOn("ServiceExternalIPsDeprecated"))
    yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
}

function* externalNameWarnings(spec: JsonObject): Generator<string> {
  const isName = spec["type"] === "ExternalName";
  if (isName && stringsAt(spec, "externalIPs").length > 0)
    yield 'spec.externalIPs is ignored when spec.type is "ExternalName"';
  if (!isName && stringAt(spec, "externalName") !== "")
    yield 'spec.externalName is ignored when spec.type is not "ExternalName"';
}
