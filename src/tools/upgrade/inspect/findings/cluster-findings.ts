/** Namespaces, owners, API servers and kubelets. */
import { ignoredGates } from "../../../../objects/catalog/ignored-gates.ts";
import { RELEASES, type ReleaseName } from "../../../../objects/catalog/release.ts";
import { SUBJECTS_MAX, type UpgradeFinding } from "../../finding.ts";
import type { Facts } from "../facts.ts";
import type { NamedCount } from "../inspection.ts";
import { releaseOf } from "../releases/detect-release.ts";
import { are, counted } from "./text.ts";

/** A kubelet may be up to three releases older than the API servers. */
const KUBELET_SKEW_MAX = 3;

export function clusterFindings(facts: Facts): UpgradeFinding[] {
  return [
    ...terminatingNamespaces(facts),
    ...missingNamespaces(facts),
    ...missingOwners(facts),
    ...differentServers(facts),
    ...unknownFlags(facts),
    ...neededConfig(facts),
    ...oldKubelets(facts),
    ...expiredLeases(facts),
    ...disagreements(facts),
  ];
}

function terminatingNamespaces({ terminating }: Facts): UpgradeFinding[] {
  if (terminating.length === 0) return [];
  const [first] = terminating;
  const hasFinalizers = terminating.some(({ contentFinalizers }) => contentFinalizers.length > 0);
  return [
    {
      id: "namespace-terminating",
      severity: "warning",
      title: `${counted(terminating.length, "namespace")} ${are(terminating.length)} being deleted and cannot end yet`,
      why: "A namespace ends only after all objects in it are deleted. Until then nothing can be created in it, and a namespace that waits since before the upgrade hides new problems.",
      fix: [
        "Look at the conditions of the namespace, which name the reason:",
        `$ kubectl get namespace ${first?.name ?? ""} -o yaml`,
        ...(hasFinalizers
          ? [
              "Start the controllers that own the listed finalizers. If they do not exist any more, remove the finalizers from the objects.",
            ]
          : [
              "The objects have no finalizers, so a running kube-controller-manager deletes them. Check that it runs, and that all APIServices are available:",
              "$ kubectl get apiservices",
            ]),
      ],
      count: terminating.length,
      subjects: terminating.slice(0, SUBJECTS_MAX).map((namespace) => ({
        name: `namespaces ${namespace.name}`,
        detail: [
          namespace.objects === 0 ? "no objects are left" : `left: ${list(namespace.content)}`,
          ...(namespace.finalizers.length > 0 ? [`finalizers: ${namespace.finalizers.join(", ")}`] : []),
          ...(namespace.contentFinalizers.length > 0
            ? [`finalizers of objects: ${list(namespace.contentFinalizers)}`]
            : []),
        ].join("; "),
      })),
    },
  ];
}

function list(counts: readonly NamedCount[]): string {
  return counts.map(({ name, count }) => `${count} ${name}`).join(", ");
}

function missingNamespaces({ missingNamespaces: { count, objects, subjects } }: Facts): UpgradeFinding[] {
  if (count === 0) return [];
  return [
    {
      id: "namespace-missing",
      severity: "warning",
      title: `${counted(objects, "object")} ${are(objects)} in ${counted(count, "namespace")} that ${count === 1 ? "does" : "do"} not exist`,
      why: "The objects appear in lists of all namespaces, but no controller deletes them, and a new namespace of the same name would contain them.",
      fix: [
        "Create the namespace again and delete it, so that its content is deleted, too:",
        "$ kubectl create namespace NAME",
        "$ kubectl delete namespace NAME",
      ],
      count: objects,
      subjects,
    },
  ];
}

function missingOwners({ missingOwners: { owners, dependents, subjects } }: Facts): UpgradeFinding[] {
  if (owners === 0) return [];
  return [
    {
      id: "owner-missing",
      severity: "warning",
      title: `${counted(dependents, "owner reference")} ${dependents === 1 ? "names an owner that does" : "name owners that do"} not exist`,
      why: "The garbage collector of kube-controller-manager deletes an object if none of its owners exists. If the object still exists, the garbage collector does not run, or the object is deleted when it does.",
      fix: [
        "If the object is not needed, delete it. If it is, remove the reference:",
        `$ kubectl patch RESOURCE NAME -n NAMESPACE --type=json -p '[{"op":"remove","path":"/metadata/ownerReferences"}]'`,
      ],
      count: dependents,
      subjects,
    },
  ];
}

function differentServers({ detected: { servers } }: Facts): UpgradeFinding[] {
  const versions = new Set(servers.map(({ version }) => version ?? "unknown"));
  if (versions.size < 2) return [];
  return [
    {
      id: "api-servers-differ",
      severity: "warning",
      title: `The ${servers.length} API servers have ${versions.size} different versions: ${[...versions].join(", ")}`,
      why: "An upgrade or a rollback is not complete. The servers may store and serve different versions.",
      fix: ["Complete the upgrade or the rollback of all API servers before the next one."],
      count: servers.length,
      subjects: servers
        .slice(0, SUBJECTS_MAX)
        .map(({ name, version }) => ({ name: `pods ${name}`, detail: version ?? "unknown" })),
    },
  ];
}

/** kube-apiserver does not start with an API version or a feature gate that it does not know. */
function unknownFlags({ hops, detected }: Facts): UpgradeFinding[] {
  if (!detected.areFlagsKnown) return [];
  const gates = new Map(
    detected.featureGates.map((entry) => {
      const [name = "", value = ""] = entry.split("=");
      return [name.replace(/^kube:/, ""), value.toLowerCase() === "true"] as const;
    }),
  );
  const reported = new Set<string>();
  return hops.flatMap(({ release, unknownEntries }): UpgradeFinding[] => {
    const subjects = [
      ...unknownEntries.map((entry) => ({
        name: `--runtime-config=${entry}`,
        detail: `Kubernetes ${release} does not have the API version`,
      })),
      ...ignoredGates(gates, release).map(({ gate, problem }) => ({
        name: `--feature-gates=${gate}`,
        detail: problem,
      })),
    ].filter(({ name }) => !reported.has(name));
    for (const { name } of subjects) reported.add(name);
    if (subjects.length === 0) return [];
    return [
      {
        id: "flag-unknown",
        severity: "error",
        title: `kube-apiserver ${release} does not start with ${counted(subjects.length, "flag")} of the current servers`,
        why: "kube-apiserver ends with an error if --runtime-config or --feature-gates names what it does not know.",
        fix: [`Remove the entries from the manifest of each API server when you change its image to ${release}.`],
        release,
        count: subjects.length,
        subjects: subjects.slice(0, SUBJECTS_MAX),
      },
    ];
  });
}

/** API versions that the servers serve now, and that a hop serves only with a flag. */
function neededConfig({ detected, hops }: Facts): UpgradeFinding[] {
  const [hop] = hops;
  const enabled = detected.servingConfig.filter((entry) => entry.endsWith("=true"));
  if (hop === undefined || enabled.length === 0) return [];
  return [
    {
      id: "runtime-config-needed",
      severity: "info",
      title: `The API servers serve ${counted(enabled.length, "API version")} only because of --runtime-config`,
      why: "If a server of the next release starts without the same entries, clients of these versions receive 404.",
      fix: ["Keep the entries of --runtime-config, as far as the next release has the API versions."],
      count: enabled.length,
      subjects: enabled.slice(0, SUBJECTS_MAX).map((entry) => ({ name: entry.replace(/=true$/, "") })),
    },
  ];
}

function oldKubelets({ kubelets, hops }: Facts): UpgradeFinding[] {
  for (const { release } of hops) {
    const old = kubelets.filter(({ version }) => isTooOld(version, release));
    if (old.length === 0) continue;
    return [
      {
        id: "kubelet-too-old",
        severity: "error",
        title: `${counted(old.length, "kubelet")} ${are(old.length)} more than ${KUBELET_SKEW_MAX} releases older than Kubernetes ${release}`,
        why: "Kubernetes does not support this skew: the kubelet may use API versions that the servers do not serve any more.",
        fix: [`Upgrade the kubelets before the API servers run ${release}.`],
        release,
        count: old.length,
        subjects: old.slice(0, SUBJECTS_MAX).map(({ node, version }) => ({ name: `nodes ${node}`, detail: version })),
      },
    ];
  }
  return [];
}

function isTooOld(version: string, release: ReleaseName): boolean {
  const minor = /^v?1\.(\d{1,3})\./.exec(version)?.[1];
  const known = releaseOf(version);
  if (minor === undefined) return false;
  const index = known === undefined ? -1 : RELEASES.indexOf(known);
  if (index >= 0) return RELEASES.indexOf(release) - index > KUBELET_SKEW_MAX;
  return Number(release.slice("1.".length)) - Number(minor) > KUBELET_SKEW_MAX;
}

function expiredLeases({ leases }: Facts): UpgradeFinding[] {
  const expired = leases.filter(({ state }) => state !== "live");
  if (expired.length === 0) return [];
  return [
    {
      id: "identity-lease-expired",
      severity: "info",
      title: `${counted(expired.length, "identity lease")} of API servers ${expired.length === 1 ? "has" : "have"} expired`,
      why: "A server that has ended leaves its lease, which running servers delete after a while. If they do not, none was running when the data was copied.",
      fix: [
        "Nothing must be done, unless the lease still exists an hour later:",
        "$ kubectl get leases -n kube-system",
      ],
      count: expired.length,
      subjects: expired.slice(0, SUBJECTS_MAX).map(({ name, hostname, renewTime }) => ({
        name: `leases.coordination.k8s.io kube-system/${name}`,
        detail: `${hostname === undefined ? "" : `host ${hostname}, `}renewed ${renewTime ?? "never"}`,
      })),
    },
  ];
}

function disagreements({ storageVersions, leases }: Facts): UpgradeFinding[] {
  const findings: UpgradeFinding[] = [];
  const different = storageVersions.filter(({ isAgreed }) => !isAgreed);
  if (different.length > 0) {
    findings.push({
      id: "storage-version-disagreement",
      severity: "warning",
      title: `API servers store ${counted(different.length, "resource")} in different versions`,
      why: "A migration of stored objects has no effect until all servers write the same version.",
      fix: ["Complete the upgrade of all API servers before you migrate objects:", "$ kubectl get storageversions"],
      count: different.length,
      subjects: different.slice(0, SUBJECTS_MAX).map(({ name, servers }) => ({
        name: `storageversions.internal.apiserver.k8s.io ${name}`,
        detail: servers.map(({ server, encodingVersion }) => `${server}: ${encodingVersion}`).join(", "),
      })),
    });
  }
  const departed = storageVersions.filter(({ servers }) => servers.some(({ isLive }) => !isLive));
  // Without leases, nothing shows which servers are live.
  if (departed.length === 0 || leases.length === 0) return findings;
  findings.push({
    id: "storage-version-of-departed-server",
    severity: "info",
    title: `${counted(departed.length, "StorageVersion")} ${departed.length === 1 ? "lists" : "list"} servers without a live identity lease`,
    why: "The servers count as if they still wrote objects, so that the common encoding version may be missing.",
    fix: ["kube-controller-manager removes such entries. Check that it runs."],
    count: departed.length,
    subjects: departed.slice(0, SUBJECTS_MAX).map(({ name, servers }) => ({
      name: `storageversions.internal.apiserver.k8s.io ${name}`,
      detail: servers
        .filter(({ isLive }) => !isLive)
        .map(({ server }) => server)
        .join(", "),
    })),
  });
  return findings;
}
