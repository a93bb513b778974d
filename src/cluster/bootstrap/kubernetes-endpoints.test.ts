import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { endpointObjects, serviceEndpoints, type LiveAddresses } from "./kubernetes-endpoints.ts";
import type { Serves } from "./served-version.ts";

const OWN = { host: "192.0.2.1", port: 6443 };

function live(more: Partial<LiveAddresses> = {}): LiveAddresses {
  return { ips: [OWN.host], own: OWN, peers: [], ...more };
}

function endpointsWith(ips: readonly string[], port: number): JsonObject {
  const ports = [{ name: "https", port, protocol: "TCP" }];
  return { metadata: { resourceVersion: "7" }, subsets: [{ addresses: ips.map((ip) => ({ ip })), ports }] };
}

describe("the endpoints of the kubernetes Service", () => {
  test("have the sorted addresses of all live servers, each once", () => {
    const ips = ["192.0.2.3", "192.0.2.1", "192.0.2.2", "192.0.2.1"];
    expect(serviceEndpoints(undefined, live({ ips })).ips).toEqual(["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
  });

  test("have the port of this server if there are no Endpoints yet, or none with the port of a server", () => {
    expect(serviceEndpoints(undefined, live()).port).toBe(6443);
    expect(serviceEndpoints({ subsets: [] }, live()).port).toBe(6443);
    const edited = {
      subsets: [
        {
          ports: [
            { name: "https", port: 1 },
            { name: "other", port: 2 },
          ],
        },
      ],
    };
    expect(serviceEndpoints(edited, live()).port).toBe(6443);
  });

  test("keep their port while a live server listens on it, so that servers with different ports do not alternate", () => {
    const peers = [{ host: "192.0.2.2", port: 7443 }];
    const existing = endpointsWith(["192.0.2.2"], 7443);
    expect(serviceEndpoints(existing, live({ ips: ["192.0.2.1", "192.0.2.2"], peers })).port).toBe(7443);
    expect(serviceEndpoints(existing, live({ peers: [{ host: OWN.host, port: 7443 }] })).port).toBe(7443);
  });

  test("get the port of this server when no live server listens on their port", () => {
    const peers = [{ host: "192.0.2.2", port: 7443 }];
    expect(serviceEndpoints(endpointsWith(["192.0.2.2"], 7443), live({ peers })).port).toBe(6443);
  });

  test("keep their port while a server is live whose port is unknown", () => {
    const ips = ["192.0.2.1", "192.0.2.9"];
    expect(serviceEndpoints(endpointsWith(ips, 8443), live({ ips })).port).toBe(8443);
  });
});

const SERVES: Serves = (group, resource, namespace = "") => ({
  ...{ group, version: "v1", resource, namespace, apiVersion: "v1" },
  collection: `/${resource}`,
});

describe("the Endpoints and the EndpointSlice", () => {
  test("are not changed if they have the addresses in another order", () => {
    const [endpoints] = endpointObjects(SERVES, { ips: ["192.0.2.1", "192.0.2.2"], port: 6443 });
    const existing = endpointsWith(["192.0.2.2", "192.0.2.1"], 6443);
    const labels = { "endpointslice.kubernetes.io/skip-mirror": "true" };
    expect(endpoints?.correct?.({ ...existing, metadata: { labels } })).toBeUndefined();
    expect(endpoints?.correct?.(existing)).toEqual({ metadata: { labels, resourceVersion: "7" } });
  });

  test("are corrected on condition that no other server has changed them meanwhile", () => {
    const [endpoints, slice] = endpointObjects(SERVES, { ips: ["192.0.2.1"], port: 6443 });
    expect(endpoints?.correct?.(endpointsWith(["192.0.2.2"], 6443))).toMatchObject({
      metadata: { resourceVersion: "7" },
      subsets: [{ addresses: [{ ip: "192.0.2.1" }] }],
    });
    expect(slice?.correct?.({ metadata: { resourceVersion: "8" }, endpoints: null })).toMatchObject({
      metadata: { resourceVersion: "8" },
      endpoints: [{ addresses: ["192.0.2.1"] }],
    });
  });

  test("are empty if no server is live", () => {
    const [endpoints, slice] = endpointObjects(SERVES, { ips: [], port: 6443 });
    expect(endpoints?.object["subsets"]).toEqual([]);
    expect([slice?.object["endpoints"], slice?.object["ports"]]).toEqual([[], []]);
  });

  test("have IPv6 addresses in the slice only if all addresses are IPv6; a slice of the other family is replaced", () => {
    const [, six] = endpointObjects(SERVES, { ips: ["2001:db8::1"], port: 6443 });
    expect(six?.object).toMatchObject({ addressType: "IPv6", endpoints: [{ addresses: ["2001:db8::1"] }] });
    expect(six?.isToBeReplaced?.({ addressType: "IPv4" })).toBe(true);
    const [, mixed] = endpointObjects(SERVES, { ips: ["192.0.2.1", "2001:db8::1"], port: 6443 });
    expect(mixed?.object).toMatchObject({ addressType: "IPv4", endpoints: [{ addresses: ["192.0.2.1"] }] });
  });
});
