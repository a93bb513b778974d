/**
 * Resolves a reference to a Service to endpoint addresses, from the Service and its EndpointSlices, as kube-apiserver
 * does with `--enable-aggregator-routing`. Cluster IPs are not used, so this server need not reach the service network.
 * Pure.
 */
import { randomInteger, type Random } from "../../base/random.ts";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { goQuote } from "../../meta/go-quote.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface ServiceState {
  service(namespace: string, name: string): JsonObject | undefined;
  /** The EndpointSlices whose label names the Service. */
  endpointSlices(namespace: string, name: string): readonly JsonObject[];
}

/** Fixed addresses by NAME.NAMESPACE. They take precedence over Services and EndpointSlices. */
export type ServiceOverrides = ReadonlyMap<string, UpstreamAddress>;

export type Resolution =
  /** At least one address, in random order within each address family. */
  | { readonly kind: "resolved"; readonly addresses: readonly UpstreamAddress[] }
  | { readonly kind: "unresolved"; readonly message: string };

/** Maximum number of addresses that one request tries. */
const ADDRESSES_MAX = 5;
const WITH_ENDPOINTS: ReadonlySet<string> = new Set(["ClusterIP", "LoadBalancer", "NodePort"]);

export interface ResolveParts {
  readonly state: ServiceState;
  readonly overrides: ServiceOverrides;
  readonly random: Random;
}

export function resolveService(reference: ServiceReference, parts: ResolveParts): Resolution {
  const { namespace, name, port } = reference;
  const override = overrideOf(parts.overrides, reference);
  if (override !== undefined) return { kind: "resolved", addresses: [override] };
  const service = parts.state.service(namespace, name);
  if (service === undefined) return unresolved(`service ${goQuote(name)} not found`);
  const spec = objectAt(service, "spec");
  const type = serviceType(service);
  // DIFFERS: kube-apiserver with `--enable-aggregator-routing` rejects ExternalName; without the flag, it uses the
  // external name.
  if (type === "ExternalName") return externalName(spec, port);
  if (!WITH_ENDPOINTS.has(type)) return unresolved(`unsupported service type ${goQuote(type)}`);
  const portName = servicePortName(service, port);
  if (portName === undefined) return unresolved(`no service port ${port} found for service ${goQuote(name)}`);
  const addresses = readyAddresses(parts.state.endpointSlices(namespace, name), { portName, spec }, parts.random);
  if (addresses.length === 0) return unresolved(`no endpoints available for service ${goQuote(name)}`);
  return { kind: "resolved", addresses };
}

export function overrideOf(
  overrides: ServiceOverrides,
  { name, namespace }: ServiceReference,
): UpstreamAddress | undefined {
  return overrides.get(`${name}.${namespace}`);
}

/** The type of the Service; ClusterIP if it is absent, as in kubernetes. */
export function serviceType(service: JsonObject): string {
  const type = stringAt(objectAt(service, "spec"), "type");
  return type === "" ? "ClusterIP" : type;
}

/** The name of the port, which may be ""; undefined if the Service does not have the port. */
export function servicePortName(service: JsonObject, port: number): string | undefined {
  const found = objectsAt(objectAt(service, "spec"), "ports").find((candidate) => candidate["port"] === port);
  return found === undefined ? undefined : stringAt(found, "name");
}

/** True if an EndpointSlice that has the port also has a ready endpoint. */
export function hasReadyEndpoint(slices: readonly JsonObject[], portName: string): boolean {
  return slices.some(
    (slice) => slicePort(slice, portName) !== undefined && objectsAt(slice, "endpoints").some(isReady),
  );
}

function externalName(spec: JsonObject, port: number): Resolution {
  const host = stringAt(spec, "externalName");
  return host === ""
    ? unresolved("the service has no external name")
    : { kind: "resolved", addresses: [{ host, port }] };
}

function readyAddresses(
  slices: readonly JsonObject[],
  { portName, spec }: { readonly portName: string; readonly spec: JsonObject },
  random: Random,
): UpstreamAddress[] {
  const families = spec["ipFamilies"];
  const preferred: unknown = Array.isArray(families) ? families[0] : undefined;
  const [first, others]: [JsonObject[], JsonObject[]] = [[], []];
  for (const slice of slices)
    (preferred === undefined || slice["addressType"] === preferred ? first : others).push(slice);
  return [first, others]
    .flatMap((tier) =>
      randomSelection(
        tier.flatMap((slice) => sliceAddresses(slice, portName)),
        random,
      ),
    )
    .slice(0, ADDRESSES_MAX);
}

function sliceAddresses(slice: JsonObject, portName: string): UpstreamAddress[] {
  const port = slicePort(slice, portName);
  if (port === undefined) return [];
  return objectsAt(slice, "endpoints")
    .filter(isReady)
    .flatMap(({ addresses }) => {
      // Only the first address is used, because all addresses belong to the same endpoint.
      const host: unknown = Array.isArray(addresses) ? addresses[0] : undefined;
      return typeof host === "string" && host !== "" ? [{ host, port }] : [];
    });
}

function slicePort(slice: JsonObject, portName: string): number | undefined {
  const found = objectsAt(slice, "ports").find((port) => port["name"] === portName && isPort(port["port"]));
  return found === undefined ? undefined : (found["port"] as number);
}

/** An endpoint without the condition is ready. */
function isReady(endpoint: JsonObject): boolean {
  return objectAt(endpoint, "conditions")["ready"] !== false;
}

function isPort(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value > 0 && value <= 65_535;
}

/** Up to ADDRESSES_MAX of the items, in random order. */
function randomSelection<Item>(items: Item[], random: Random): Item[] {
  const count = Math.min(items.length, ADDRESSES_MAX);
  for (let index = 0; index < count; index++) {
    const other = index + randomInteger(random, items.length - index);
    [items[index], items[other]] = [items[other]!, items[index]!];
  }
  return items.slice(0, count);
}

function unresolved(message: string): Resolution {
  return { kind: "unresolved", message };
}
