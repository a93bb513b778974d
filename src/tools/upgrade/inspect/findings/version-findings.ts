/** Objects in stored versions that a release of the upgrade cannot decode or would not serve. */
import { decideReading } from "../../../../cluster/inspect/rollback-check.ts";
import { storageOfRelease, type StoragePlace } from "../../../../objects/catalog/storage-places.ts";
import { formatGroupResource } from "../../../../meta/group-version.ts";
import { SUBJECTS_MAX, type UpgradeFinding, type FindingSubject } from "../../finding.ts";
import type { ResourceStat, VersionStat } from "../collect/resource-stats.ts";
import { releaseBefore, type Facts } from "../facts.ts";
import { OTHERS } from "../inspection.ts";
import { canEmulate, type ReleaseView } from "../releases/release-views.ts";
import { are, counted, rewriteSteps } from "./text.ts";

interface PlacedStat extends ResourceStat {
  readonly place: StoragePlace;
}

export function versionFindings(facts: Facts): UpgradeFinding[] {
  return placed(facts).flatMap((stat) => {
    const versions = [...stat.versions.values()];
    return [...versions.flatMap((version) => decodingFinding(facts, stat, version)), ...servingFinding(facts, stat)];
  });
}

/** Resources that servers of `from` cannot read after servers of a hop have written them. */
export function rollbackFindings(facts: Facts): UpgradeFinding[] {
  const { from } = facts;
  if (from === undefined) return [];
  return [...storedByNewer(facts, from), ...facts.hops.flatMap((hop) => rollbackFinding(facts, from, hop))];
}

function placed({ resources }: Facts): PlacedStat[] {
  return resources.filter((stat): stat is PlacedStat => stat.place !== undefined && stat.objects > 0);
}

function decodingFinding(facts: Facts, stat: PlacedStat, version: VersionStat): UpgradeFinding[] {
  const apiVersion = facts.types.textOf(version.apiVersion);
  if (apiVersion === OTHERS) return [];
  const hop = facts.hops.find(({ catalog }) => decideReading(catalog, stat.place, apiVersion).kind === "unreadable");
  if (hop === undefined) return [];
  const resource = formatGroupResource(stat);
  const objects = `${counted(version.objects, "object")} of ${resource}`;
  const common = {
    release: hop.release,
    count: version.objects,
    subjects: version.names.map((name): FindingSubject => ({
      name: `${resource} ${name}`,
      detail: `stored as ${apiVersion}`,
    })),
  };
  if (storageOfRelease(stat.place, hop.release, hop.catalog.emulation) === undefined) {
    return [
      {
        ...common,
        id: "resource-removed",
        severity: "warning",
        title: `${objects} ${are(version.objects)} stored, but Kubernetes ${hop.release} does not have the resource`,
        why: "The objects stay in the store, but no client can read or delete them after the upgrade.",
        fix: [
          `Save what you need, and delete the objects before the upgrade to ${hop.release}:`,
          `$ kubectl get ${resource} --all-namespaces -o yaml > ${resource}.yaml`,
          `$ kubectl delete ${resource} --all --all-namespaces`,
        ],
      },
    ];
  }
  return [
    {
      ...common,
      id: "stored-version-undecodable",
      severity: "error",
      title: `${objects} ${are(version.objects)} stored as ${apiVersion}, which Kubernetes ${hop.release} cannot decode`,
      why: `Servers of ${hop.release} fail every list and watch of ${resource} as long as one such object exists, so controllers stop.`,
      fix: migrationSteps(facts, stat, hop),
    },
  ];
}

/** The rewrite must be done by servers whose storage version the hop can decode. */
function migrationSteps(facts: Facts, stat: PlacedStat, hop: ReleaseView): string[] {
  const earlier = [...(facts.from === undefined ? [] : [facts.from]), ...facts.hops.slice(0, facts.hops.indexOf(hop))];
  const decodable = storageOfRelease(stat.place, hop.release)?.decodableVersions ?? [];
  const writer = earlier.findLast(({ release, catalog }) => {
    const written = storageOfRelease(stat.place, release, catalog.emulation)?.storageVersion;
    return written !== undefined && decodable.includes(written);
  });
  const resource = formatGroupResource(stat);
  if (writer !== undefined) {
    return [
      `When all API servers run ${writer.release}, and before the first one runs ${hop.release}, rewrite the objects:`,
      ...rewriteSteps(stat, writer),
    ];
  }
  return [
    `No release before ${hop.release} stores ${resource} in a version that ${hop.release} decodes (${decodable.join(", ")}).`,
    "Save the objects, delete them before the upgrade, and create them again afterwards in a version that is served then:",
    `$ kubectl get ${resource} --all-namespaces -o yaml > ${resource}.yaml`,
    `$ kubectl delete ${resource} --all --all-namespaces`,
  ];
}

function servingFinding(facts: Facts, stat: PlacedStat): UpgradeFinding[] {
  const hop = facts.hops.find(({ catalog }) =>
    [...stat.versions.values()].some(
      ({ apiVersion }) => decideReading(catalog, stat.place, facts.types.textOf(apiVersion)).kind === "unserved",
    ),
  );
  if (hop === undefined) return [];
  const resource = formatGroupResource(stat);
  const isServedNow = facts.from?.catalog.resource(stat.group, stat.resource) !== undefined;
  const possible = hop.widest.resource(stat.group, stat.resource)?.versions[0]?.version;
  const groupVersion = `${stat.group === "" ? "" : `${stat.group}/`}${possible ?? ""}`;
  const before = releaseBefore(facts, hop);
  return [
    {
      id: "resource-not-served",
      severity: "warning",
      title: `${counted(stat.objects, "object")} of ${resource} ${are(stat.objects)} stored, but Kubernetes ${hop.release} does not serve the resource by default`,
      why:
        isServedNow && before !== undefined
          ? `Clients that use ${resource} with ${before} receive 404 after the upgrade.`
          : "No client can read or delete the objects unless the servers have a flag that enables the API.",
      fix: [
        ...(possible === undefined
          ? []
          : [`To keep the resource, start the API servers with --runtime-config=${groupVersion}=true.`]),
        "Otherwise delete the objects before the upgrade:",
        `$ kubectl delete ${resource} --all --all-namespaces`,
      ],
      release: hop.release,
      count: stat.objects,
      subjects: namesOf(stat, resource),
    },
  ];
}

function namesOf({ versions }: ResourceStat, resource: string): FindingSubject[] {
  const names = [...versions.values()].flatMap((version) => version.names);
  return names.slice(0, SUBJECTS_MAX).map((name) => ({ name: `${resource} ${name}` }));
}

function storedByNewer(facts: Facts, from: ReleaseView): UpgradeFinding[] {
  const subjects = placed(facts).flatMap((stat) =>
    [...stat.versions.values()].flatMap(({ apiVersion, objects }): FindingSubject[] => {
      const text = facts.types.textOf(apiVersion);
      if (text === OTHERS) return [];
      const reading = decideReading(from.catalog, stat.place, text);
      if (reading.kind !== "unreadable") return [];
      return [{ name: formatGroupResource(stat), detail: `${counted(objects, "object")}: ${reading.reason}` }];
    }),
  );
  if (subjects.length === 0) return [];
  return [
    {
      id: "stored-by-newer-release",
      severity: "warning",
      title: `${counted(subjects.length, "resource")} ${are(subjects.length)} stored in versions that Kubernetes ${from.release} cannot decode`,
      why: `Servers of a newer release have written these objects, so servers of ${from.release} without emulation cannot read them now.`,
      fix: [
        `If API servers of ${from.release} run in this cluster, or may run after a rollback, rewrite the objects with a server that stores a version which they decode, or finish the upgrade on all servers.`,
      ],
      count: subjects.length,
      subjects: subjects.slice(0, SUBJECTS_MAX),
    },
  ];
}

/** Reports each resource with the first hop that stores it in a version unknown to `from`. */
function rollbackFinding(facts: Facts, from: ReleaseView, hop: ReleaseView): UpgradeFinding[] {
  const earlier = facts.hops.slice(0, facts.hops.indexOf(hop));
  const subjects = placed(facts).flatMap((stat): FindingSubject[] => {
    const reason = rollbackProblem(stat.place, from, hop);
    if (reason === undefined || earlier.some((other) => rollbackProblem(stat.place, from, other) !== undefined))
      return [];
    return [{ name: formatGroupResource(stat), detail: `${counted(stat.objects, "object")} now; ${reason}` }];
  });
  if (subjects.length === 0) return [];
  return [
    {
      id: "rollback-unreadable",
      severity: "warning",
      title: `${counted(subjects.length, "resource")} could not be read by Kubernetes ${from.release} after servers of ${hop.release} have written ${subjects.length === 1 ? "it" : "them"}`,
      why: `After a rollback to ${from.release}, its servers fail every list of a resource that has one such object.`,
      fix: [
        `Take a snapshot of etcd before the first server runs ${hop.release}:`,
        "$ etcdctl snapshot save before-upgrade.db",
        ...(canEmulate(hop.release, from.release)
          ? [
              `Or run the servers of ${hop.release} with --emulated-version=${from.release} until a rollback is not needed any more: they write only versions that ${from.release} can decode.`,
            ]
          : []),
      ],
      release: hop.release,
      count: subjects.length,
      subjects: subjects.slice(0, SUBJECTS_MAX),
    },
  ];
}

function rollbackProblem(place: StoragePlace, from: ReleaseView, hop: ReleaseView): string | undefined {
  const written = storageOfRelease(place, hop.release, hop.catalog.emulation)?.storageVersion;
  if (written === undefined) return undefined;
  const reading = decideReading(from.catalog, place, written);
  return reading.kind === "unreadable" ? `${hop.release} writes ${written}; ${reading.reason}` : undefined;
}
