/** Clients that write through API versions that an upgrade removes, or that they should leave. */
import { someOf } from "../../../../base/some-of.ts";
import { formatGroupResource } from "../../../../meta/group-version.ts";
import { SUBJECTS_MAX, type UpgradeFinding, type Severity } from "../../finding.ts";
import type { Facts } from "../facts.ts";
import { OTHERS, type ClientStatus, type ClientTally } from "../inspection.ts";
import { counted } from "./text.ts";

/** Parts of Kubernetes, which are upgraded with the cluster and then use other versions. */
const COMPONENTS: ReadonlySet<string> = new Set([
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubelet",
  "kube-proxy",
  "cloud-controller-manager",
  "kubeadm",
  "k3s",
  "evenkeel",
  "kubernetes-service-cidr-controller",
  "api-priority-and-fairness-config-consumer-v1",
  "api-priority-and-fairness-config-producer-v1",
]);

/** Of the resources and versions in a sentence. */
const RESOURCES_MAX = 3;

interface Rule {
  readonly id: string;
  readonly severity: Severity;
  readonly title: (client: ClientTally) => string;
  readonly why: string;
}

const deprecatedTitle = ({ release }: ClientTally): string =>
  release === undefined ? "which is deprecated" : `which is deprecated from ${release} on`;

const RULES: { readonly [Status in ClientStatus]?: Rule } = {
  removed: {
    id: "api-removed",
    severity: "error",
    title: ({ release }) => `which Kubernetes ${release} removes`,
    why: "The requests of these clients fail with 404 from then on. managedFields show only the last write of a client, so others may use the version for reads.",
  },
  disabled: {
    id: "api-disabled",
    severity: "warning",
    title: ({ release }) => `which Kubernetes ${release} does not serve by default`,
    why: "The requests of these clients fail with 404 from then on, unless --runtime-config enables the version.",
  },
  deprecated: {
    id: "api-deprecated",
    severity: "warning",
    title: deprecatedTitle,
    why: "A later release removes the version, and the requests of these clients fail then.",
  },
  older: {
    id: "api-older",
    severity: "info",
    title: ({ replacement }) => `although ${replacement} is served`,
    why: "The version is served by all releases of this upgrade. It does not have the fields that only the newer version has, and is the first candidate for a later removal.",
  },
  unserved: {
    id: "api-unserved",
    severity: "info",
    title: () => "which the servers do not serve now",
    why: "The records are old: the clients have changed or cannot write any more. Manifests of the same age may still have the version.",
  },
};

const STAYS_SERVED: Rule = {
  id: "api-deprecated",
  severity: "info",
  title: deprecatedTitle,
  why: "The version works, and Kubernetes has not announced a removal. The server returns a warning for each request.",
};

export function clientFindings({ clients }: Facts): UpgradeFinding[] {
  const groups = Map.groupBy(
    clients.filter(({ manager, resource }) => !COMPONENTS.has(manager) && resource !== OTHERS),
    ({ status, apiVersion, release = "", staysServed = false }) => `${status} ${apiVersion} ${release} ${staysServed}`,
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const rule = first === undefined ? undefined : ruleOf(first);
    return first === undefined || rule === undefined ? [] : [findingOf(rule, first, group)];
  });
}

function ruleOf({ status, staysServed = false }: ClientTally): Rule | undefined {
  return staysServed ? STAYS_SERVED : RULES[status];
}

function findingOf(rule: Rule, first: ClientTally, group: readonly ClientTally[]): UpgradeFinding {
  const resources = [...new Set(group.map((client) => formatGroupResource(client)))];
  const managers = [...new Set(group.map(({ manager }) => manager))];
  const replacements = [...new Set(group.flatMap(({ replacement }) => replacement ?? []))];
  const objects = group.reduce((sum, client) => sum + client.objects, 0);
  const verb = managers.length === 1 ? "writes" : "write";
  return {
    id: rule.id,
    severity: rule.severity,
    title: `${counted(managers.length, "client")} ${verb} ${someOf(resources, RESOURCES_MAX)} through ${first.apiVersion}, ${rule.title(first)} (${counted(objects, "object")})`,
    why: rule.why,
    fix: [
      replacements.length === 0
        ? "Change the manifests and clients to a version that is served."
        : `Change the manifests and clients to ${someOf(replacements, RESOURCES_MAX)}. No stored object must be changed for that.`,
      "Look for manifests with the old version:",
      "$ evenkeel check MANIFESTS",
    ],
    ...(first.release === undefined ? {} : { release: first.release }),
    count: group.length,
    subjects: group.slice(0, SUBJECTS_MAX).map((client) => ({
      name: client.manager,
      detail: `${counted(client.objects, "object")} of ${formatGroupResource(client)}, last write ${client.lastTime ?? "unknown"}`,
    })),
  };
}
