/** Provides the quota evaluator of each resource. */
import { formatGroupResource, type GroupResource } from "../../../../meta/group-version.ts";
import { isJsonObject, numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import {
  addTo,
  raiseTo,
  wholeAmount,
  type Amount,
  type Amounts,
  ONE_AMOUNT,
  ZERO_AMOUNT,
} from "../../../../meta/amounts.ts";
import { CLAIM_EVALUATOR } from "./claim-evaluator.ts";
import { countedResource, objectCountEvaluator, type UsageEvaluator } from "./evaluator.ts";
import { podEvaluator, type PodEvaluatorPorts } from "./pod-evaluator.ts";

/** Resources that no quota counts: virtual resources and events. */
const IGNORED: ReadonlySet<string> = new Set([
  "bindings",
  "componentstatuses",
  "tokenreviews.authentication.k8s.io",
  "selfsubjectreviews.authentication.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
  "events",
  "events.events.k8s.io",
]);

/** Resources with a second, older quota name, which is the name of the resource without count/. */
const ALIASED: readonly string[] = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

const RESOURCE_CLAIMS: GroupResource = { group: "resource.k8s.io", resource: "resourceclaims" };

export function isUnlimited(resource: GroupResource): boolean {
  return IGNORED.has(formatGroupResource(resource));
}

export interface Evaluators {
  of(resource: GroupResource): UsageEvaluator;
  /** The resources whose objects use any of these quota resource names. */
  countedFor(names: Iterable<string>): readonly GroupResource[];
}

export function createEvaluators(ports: PodEvaluatorPorts): Evaluators {
  const special = new Map<string, readonly [GroupResource, UsageEvaluator]>();
  const add = (resource: GroupResource, evaluator: UsageEvaluator): void => {
    special.set(formatGroupResource(resource), [resource, evaluator]);
  };
  add({ group: "", resource: "pods" }, podEvaluator(ports));
  add({ group: "", resource: "services" }, SERVICE_EVALUATOR);
  add({ group: "", resource: "persistentvolumeclaims" }, CLAIM_EVALUATOR);
  add(RESOURCE_CLAIMS, RESOURCE_CLAIM_EVALUATOR);
  for (const resource of ALIASED) add({ group: "", resource }, objectCountEvaluator({ group: "", resource }, resource));
  return {
    of: (resource) => special.get(formatGroupResource(resource))?.[1] ?? objectCountEvaluator(resource),
    countedFor(names) {
      const found = new Map<string, GroupResource>();
      for (const name of names) {
        const counted = countedResource(name);
        if (counted !== undefined && !isUnlimited(counted)) found.set(formatGroupResource(counted), counted);
        for (const [key, [resource, evaluator]] of special) if (evaluator.isCounted(name)) found.set(key, resource);
      }
      return [...found.values()];
    },
  };
}

const SERVICES: readonly string[] = ["count/services", "services", "services.nodeports", "services.loadbalancers"];

const SERVICE_EVALUATOR: UsageEvaluator = {
  handles: ({ operation, subresource }) => subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
  isCounted: (name) => SERVICES.includes(name),
  matchesScope: () => false,
  missing: () => undefined,
  usage: serviceUsage,
};

function serviceUsage(service: JsonObject): Amounts {
  const spec = objectAt(service, "spec");
  const type = stringAt(spec, "type");
  const ports = objectsAt(spec, "ports");
  const isBalanced = type === "LoadBalancer";
  const isSparing = isBalanced && spec["allocateLoadBalancerNodePorts"] === false;
  const counted = isSparing ? ports.filter((port) => (numberAt(port, "nodePort") ?? 0) !== 0) : ports;
  const nodePorts = isBalanced || type === "NodePort" ? counted.length : 0;
  return new Map([
    ["count/services", ONE_AMOUNT],
    ["services", ONE_AMOUNT],
    ["services.loadbalancers", isBalanced ? ONE_AMOUNT : ZERO_AMOUNT],
    ["services.nodeports", wholeAmount(nodePorts)],
  ]);
}

const CLAIM_COUNT = "count/resourceclaims.resource.k8s.io";
const DEVICES = ".deviceclass.resource.k8s.io/devices";
/** The maximum number of devices that one claim can allocate. */
const DEVICES_MAX = 32;

/** DIFFERS: devices are not counted under the extended resources of their classes. */
const RESOURCE_CLAIM_EVALUATOR: UsageEvaluator = {
  handles: ({ operation, subresource }) => subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
  isCounted: (name) => name === CLAIM_COUNT || name.endsWith(DEVICES),
  matchesScope: () => false,
  missing: () => undefined,
  usage: resourceClaimUsage,
};

function resourceClaimUsage(claim: JsonObject): Amounts {
  const usage = new Map<string, Amount>([[CLAIM_COUNT, ONE_AMOUNT]]);
  for (const request of objectsAt(objectAt(objectAt(claim, "spec"), "devices"), "requests")) {
    const alternatives = objectsAt(request, "firstAvailable");
    const { exactly } = request;
    // API versions before v1beta2 have the fields of `exactly` in the request itself.
    const exact = isJsonObject(exactly) ? exactly : request;
    const highest = new Map<string, Amount>();
    for (const one of alternatives.length > 0 ? alternatives : [exact]) raiseTo(highest, devicesOf(one));
    addTo(usage, highest);
  }
  return usage;
}

function devicesOf(request: JsonObject): Amounts {
  const name = stringAt(request, "deviceClassName") + DEVICES;
  const mode = stringAt(request, "allocationMode");
  const count = mode === "All" ? DEVICES_MAX : mode === "ExactCount" ? (numberAt(request, "count") ?? 0) : 0;
  return new Map([[name, Number.isSafeInteger(count) ? wholeAmount(count) : ZERO_AMOUNT]]);
}
