/** Lists the kinds of networking, endpoint discovery and leases. */
import type { KindEntry } from "../kind.ts";
import { ENDPOINT_SLICE } from "./endpoint-slice.ts";
import { INGRESS } from "./ingress.ts";
import { INGRESS_CLASS } from "./ingress-class.ts";
import { LEASE, LEASE_CANDIDATE } from "./lease.ts";
import { NETWORK_POLICY } from "./network-policy.ts";
import { IP_ADDRESS, SERVICE_CIDR } from "./service-ranges.ts";

export const NETWORK_KINDS: readonly KindEntry[] = [
  ["coordination.k8s.io/Lease", LEASE],
  ["coordination.k8s.io/v1alpha2/LeaseCandidate", LEASE_CANDIDATE],
  ["coordination.k8s.io/v1beta1/LeaseCandidate", LEASE_CANDIDATE],
  ["discovery.k8s.io/EndpointSlice", ENDPOINT_SLICE],
  ["networking.k8s.io/Ingress", INGRESS],
  ["networking.k8s.io/IngressClass", INGRESS_CLASS],
  ["networking.k8s.io/IPAddress", IP_ADDRESS],
  ["networking.k8s.io/NetworkPolicy", NETWORK_POLICY],
  ["networking.k8s.io/ServiceCIDR", SERVICE_CIDR],
];
