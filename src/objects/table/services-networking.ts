/** Rows of services, endpoints, ingresses, network policies and IP ranges. */
import type { JsonObject } from "../../meta/json.ts";
import {
  integerAt,
  isSetAt,
  itemsAt,
  joinFirst,
  joinOr,
  labelSelectorCell,
  labelsText,
  optionalText,
  qualifiedBy,
  textAt,
  textsAt,
  valueAt,
  type RowPrinters,
} from "./row.ts";
import type { ReleaseGates } from "../release-gates.ts";

const ITEMS_SHOWN = 3;

export const NETWORKING_PRINTERS: RowPrinters = {
  "/Service": (object) => ({
    "Cluster-IP": textsAt(object, "spec", "clusterIPs")[0] ?? (textAt(object, "spec", "clusterIP") || "<none>"),
    "External-IP": serviceAddresses(object),
    "Port(s)": joinOr("<none>", itemsAt(object, "spec", "ports").map(servicePort)),
    Selector: labelsText(valueAt(object, "spec", "selector")),
  }),
  "/Endpoints": (object) => ({ Endpoints: endpointsText(object) }),
  "discovery.k8s.io/EndpointSlice": (object) => ({
    Ports: joinFirst(itemsAt(object, "ports").map(slicePort), ITEMS_SHOWN),
    Endpoints: joinFirst(
      itemsAt(object, "endpoints").flatMap((endpoint) => textsAt(endpoint, "addresses")),
      ITEMS_SHOWN,
    ),
  }),
  "networking.k8s.io/Ingress": (object) => ({
    Class: optionalText("<none>", object, "spec", "ingressClassName"),
    Hosts: ingressHosts(object),
    Address: balancerAddresses(object).join(","),
    Ports: itemsAt(object, "spec", "tls").length > 0 ? "80, 443" : "80",
  }),
  "networking.k8s.io/IngressClass": (object, { gates }) => ({
    Name: ingressClassName(object, gates),
    Parameters: ingressParameters(valueAt(object, "spec", "parameters")),
  }),
  "networking.k8s.io/NetworkPolicy": (object) => ({
    "Pod-Selector": labelSelectorCell(valueAt(object, "spec", "podSelector")),
  }),
  "networking.k8s.io/ServiceCIDR": (object) => ({ CIDRs: textsAt(object, "spec", "cidrs").join(",") }),
  "networking.k8s.io/IPAddress": (object) => ({ ParentRef: addressParent(valueAt(object, "spec", "parentRef")) }),
  "networking.k8s.io/ClusterCIDR": (object) => ({
    PerNodeHostBits: `${integerAt(object, "spec", "perNodeHostBits")}`,
    IPv4: textAt(object, "spec", "ipv4") || "<none>",
    IPv6: textAt(object, "spec", "ipv6") || "<none>",
    NodeSelector: nodeSelectorText(valueAt(object, "spec", "nodeSelector")),
  }),
};

function balancerAddresses(object: JsonObject): readonly string[] {
  const addresses = itemsAt(object, "status", "loadBalancer", "ingress")
    .map((ingress) => textAt(ingress, "ip") || textAt(ingress, "hostname"))
    .filter((address) => address !== "");
  return [...new Set(addresses)].sort();
}

function serviceAddresses(service: JsonObject): string {
  const external = textsAt(service, "spec", "externalIPs");
  switch (valueAt(service, "spec", "type")) {
    case "ClusterIP":
    case "NodePort":
      return external.length > 0 ? external.join(",") : "<none>";
    case "LoadBalancer":
      return joinOr("<pending>", [...balancerAddresses(service), ...external]);
    case "ExternalName":
      return textAt(service, "spec", "externalName");
    default:
      return "<unknown>";
  }
}

function servicePort(port: JsonObject): string {
  const nodePort = integerAt(port, "nodePort");
  const number = nodePort > 0 ? `${integerAt(port, "port")}:${nodePort}` : `${integerAt(port, "port")}`;
  return `${number}/${textAt(port, "protocol")}`;
}

function endpointsText(endpoints: JsonObject): string {
  const subsets = itemsAt(endpoints, "subsets");
  if (subsets.length === 0) return "<none>";
  const shown: string[] = [];
  let count = 0;
  for (const subset of subsets) {
    const addresses = itemsAt(subset, "addresses").map((address) => textAt(address, "ip"));
    const ports = itemsAt(subset, "ports").map((port) => integerAt(port, "port"));
    for (const port of ports.length === 0 ? [undefined] : ports) {
      count += addresses.length;
      for (const address of addresses.slice(0, ITEMS_SHOWN - shown.length)) shown.push(withPort(address, port));
    }
  }
  const text = shown.join(",");
  return count > ITEMS_SHOWN ? `${text} + ${count - ITEMS_SHOWN} more...` : text;
}

function withPort(address: string, port: number | undefined): string {
  if (port === undefined) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function slicePort(port: JsonObject): string {
  return isSetAt(port, "port") ? `${integerAt(port, "port")}` : optionalText("*", port, "name");
}

/** The hosts of an ingress. Rules without a host count among the omitted hosts. */
function ingressHosts(ingress: JsonObject): string {
  const rules = itemsAt(ingress, "spec", "rules");
  const shown: string[] = [];
  for (const rule of rules) {
    if (shown.length === ITEMS_SHOWN) return `${shown.join(",")} + ${rules.length - ITEMS_SHOWN} more...`;
    const host = textAt(rule, "host");
    if (host !== "") shown.push(host);
  }
  return joinOr("*", shown);
}

function ingressClassName(ingressClass: JsonObject, gates: ReleaseGates): string {
  const name = textAt(ingressClass, "metadata", "name");
  const annotation = valueAt(ingressClass, "metadata", "annotations", "ingressclass.kubernetes.io/is-default-class");
  return annotation === "true" && gates.isOn("IngressClassTableDefault") ? `${name} (default)` : name;
}

function ingressParameters(parameters: unknown): string {
  if (!isSetAt(parameters)) return "<none>";
  const kind = textAt(parameters, "kind");
  const group = isSetAt(parameters, "apiGroup") ? `.${textAt(parameters, "apiGroup")}` : "";
  return `${kind}${group}/${textAt(parameters, "name")}`;
}

function addressParent(parent: unknown): string {
  if (!isSetAt(parent)) return "<none>";
  const resource = qualifiedBy(textAt(parent, "group"), textAt(parent, "resource")).toLowerCase();
  const namespace = textAt(parent, "namespace");
  return namespace === ""
    ? `${resource}/${textAt(parent, "name")}`
    : `${resource}/${namespace}/${textAt(parent, "name")}`;
}

function nodeSelectorText(selector: unknown): string {
  if (!isSetAt(selector)) return "<none>";
  return itemsAt(selector, "nodeSelectorTerms")
    .flatMap((term) => [
      nodeTermText("MatchExpressions", itemsAt(term, "matchExpressions")),
      nodeTermText("MatchFields", itemsAt(term, "matchFields")),
    ])
    .filter((text) => text !== "")
    .join(",");
}

function nodeTermText(title: string, requirements: readonly JsonObject[]): string {
  const texts = requirements.map(
    (requirement) =>
      `{${textAt(requirement, "key")} ${textAt(requirement, "operator")} [${textsAt(requirement, "values").join(" ")}]}`,
  );
  return texts.length === 0 ? "" : `${title}: [${texts.join(" ")}]`;
}
