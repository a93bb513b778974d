/** Custom resources: versions that cannot be dropped, conversion webhooks, and instances without a CRD. */
import { formatGroupResource } from "../../../../meta/group-version.ts";
import { SUBJECTS_MAX, type UpgradeFinding, type FindingSubject } from "../../finding.ts";
import type { ResourceStat, VersionStat } from "../collect/resource-stats.ts";
import type { CustomDefinition } from "../custom-definitions.ts";
import { definitionName } from "../custom-definitions.ts";
import type { Facts } from "../facts.ts";
import { OTHERS, type CustomVersionState } from "../inspection.ts";
import { are, counted, rewriteSteps } from "./text.ts";

export function customFindings(facts: Facts): UpgradeFinding[] {
  return [
    ...facts.definitions.flatMap((definition) => [
      ...removedVersions(facts, definition),
      ...oldVersions(facts, definition),
      ...missingStoredVersions(definition),
      ...droppableVersions(definition),
      ...webhook(facts, definition),
    ]),
    ...withoutDefinition(facts),
    ...unknownKeys(facts),
  ];
}

/** Stored versions that `spec.versions` does not have: no server can read these objects. */
function removedVersions(facts: Facts, definition: CustomDefinition): UpgradeFinding[] {
  const removed = definition.versions.filter(
    ({ isDeclared, objects, version }) => !isDeclared && objects > 0 && version !== OTHERS,
  );
  if (removed.length === 0) return [];
  const count = sumOf(removed);
  const names = removed.map(({ version }) => version).join(", ");
  return [
    {
      id: "crd-version-removed",
      severity: "error",
      title: `${counted(count, "object")} of ${definition.name} ${are(count)} stored in ${names}, which the CRD does not have`,
      why: "Servers cannot read these objects, so every list of the resource fails.",
      fix: [
        `Add ${names} to spec.versions of the CRD again, with served: false, then rewrite the objects:`,
        ...rewriteSteps(definition, facts.from),
        "Only then remove the versions from status.storedVersions and from spec.versions.",
      ],
      count,
      subjects: subjectsIn(facts, definition, removed),
    },
  ];
}

function oldVersions(facts: Facts, definition: CustomDefinition): UpgradeFinding[] {
  const old = definition.versions.filter(
    ({ isDeclared, isStorage, objects }) => isDeclared && !isStorage && objects > 0,
  );
  if (old.length === 0) return [];
  const count = sumOf(old);
  const storage = definition.versions.find(({ isStorage }) => isStorage)?.version ?? "unknown";
  const names = old.map(({ version }) => version).join(", ");
  const unserved = old.filter(({ isServed }) => !isServed).map(({ version }) => version);
  const patch = JSON.stringify({ status: { storedVersions: [storage] } });
  return [
    {
      id: unserved.length > 0 ? "crd-unserved-version-stored" : "crd-old-version-stored",
      severity: "warning",
      title: `${counted(count, "object")} of ${definition.name} ${are(count)} stored in ${names}, while the storage version is ${storage}`,
      why:
        `A new version of the operator that drops ${names} from the CRD makes these objects unreadable. ` +
        (unserved.length > 0
          ? `${unserved.join(", ")} ${are(unserved.length)} not served any more, so nobody notices that objects are still stored in it.`
          : `status.storedVersions must keep ${names} until the objects are rewritten.`),
      fix: [
        `Rewrite the objects, so that they are stored as ${storage}:`,
        ...rewriteSteps(definition, facts.from),
        "Then the old versions can be dropped from the status:",
        `$ kubectl patch customresourcedefinitions ${definition.name} --subresource=status --type=merge -p '${patch}'`,
      ],
      count,
      subjects: subjectsIn(facts, definition, old),
    },
  ];
}

function missingStoredVersions(definition: CustomDefinition): UpgradeFinding[] {
  const missing = definition.versions.filter(
    ({ isDeclared, version, objects }) => isDeclared && objects > 0 && !definition.storedVersions.includes(version),
  );
  if (missing.length === 0) return [];
  const names = missing.map(({ version }) => version).join(", ");
  const complete = JSON.stringify({
    status: { storedVersions: [...definition.storedVersions, ...missing.map(({ version }) => version)] },
  });
  return [
    {
      id: "crd-stored-versions-incomplete",
      severity: "warning",
      title: `status.storedVersions of ${definition.name} does not have ${names}, in which ${counted(sumOf(missing), "object")} ${are(sumOf(missing))} stored`,
      why: "Kubernetes lets a new CRD drop the version, because its status says that no object needs it. The objects are unreadable then.",
      fix: [
        "Add the version to the status:",
        `$ kubectl patch customresourcedefinitions ${definition.name} --subresource=status --type=merge -p '${complete}'`,
      ],
      count: missing.length,
      subjects: missing.map(({ version, objects }) => ({
        name: `${definition.name} ${version}`,
        detail: counted(objects, "object"),
      })),
    },
  ];
}

function droppableVersions({ name, droppable, storedVersions }: CustomDefinition): UpgradeFinding[] {
  if (droppable.length === 0) return [];
  const patch = JSON.stringify({
    status: { storedVersions: storedVersions.filter((version) => !droppable.includes(version)) },
  });
  return [
    {
      id: "crd-stored-version-droppable",
      severity: "info",
      title: `status.storedVersions of ${name} has ${droppable.join(", ")}, in which no object is stored`,
      why: "The CRD cannot drop a version as long as its status lists it.",
      fix: [
        "If the version is to be dropped from the CRD, drop it from the status first:",
        `$ kubectl patch customresourcedefinitions ${name} --subresource=status --type=merge -p '${patch}'`,
      ],
      count: droppable.length,
      subjects: droppable.map((version) => ({ name: `${name} ${version}` })),
    },
  ];
}

function webhook(facts: Facts, definition: CustomDefinition): UpgradeFinding[] {
  if (definition.conversion === "None") return [];
  const { name, webhook: target = "an unknown address", versions } = definition;
  const converted = versions.filter(({ isStorage, isDeclared }) => isDeclared && !isStorage);
  const objects = sumOf(converted);
  const isMissing = target.includes("/") && facts.hasService(target) === false;
  const common = {
    count: 1,
    subjects: [{ name, detail: `webhook: ${target}` }],
  };
  if (isMissing && converted.length > 0) {
    return [
      {
        ...common,
        id: "crd-conversion-service-missing",
        severity: "error",
        title: `The conversion webhook of ${name} names the Service ${target}, which does not exist`,
        why: "Reads and writes of the resource in any version but the stored one fail, and so does the migration of its objects.",
        fix: [
          `Install the operator that provides ${target} again, or set spec.conversion.strategy to None if the versions do not differ:`,
          `$ kubectl patch customresourcedefinitions ${name} --type=merge -p '{"spec":{"conversion":{"strategy":"None","webhook":null}}}'`,
        ],
      },
    ];
  }
  return [
    {
      ...common,
      id: "crd-conversion-webhook",
      severity: objects > 0 ? "warning" : "info",
      title: `${name} needs the conversion webhook ${target} for every read in a version other than the stored one`,
      why:
        objects > 0
          ? `${counted(objects, "object")} ${are(objects)} stored in an old version: if the webhook does not run during the upgrade, every list of the resource fails, and so do controllers that wait for it.`
          : "If the webhook does not run during the upgrade, requests in other versions fail.",
      fix: ["Upgrade so that the webhook always has a running Pod: more than one replica, and a PodDisruptionBudget."],
    },
  ];
}

function withoutDefinition(facts: Facts): UpgradeFinding[] {
  if (!facts.areDefinitionsComplete) return [];
  const known = new Set(facts.definitions.map(({ name }) => name));
  const orphaned = facts.resources.filter(
    (stat) => isCustom(stat) && !known.has(definitionName(stat)) && !facts.aggregatedGroups.has(stat.group),
  );
  return orphaned.map((stat) => ({
    id: "crd-missing",
    severity: "warning",
    title: `${counted(stat.objects, "object")} of ${formatGroupResource(stat)} ${are(stat.objects)} stored, but the resource has no CRD`,
    why: "No server serves these objects, so nobody can read or delete them. If the CRD is created again, they appear again.",
    fix: [
      "Create the CRD again, delete the objects, and delete the CRD; or delete the keys:",
      `$ etcdctl del --prefix ${facts.prefix}${stat.group}/${stat.resource}/`,
    ],
    count: stat.objects,
    subjects: [...stat.versions.values()].flatMap((version) => subjectsOf(stat, version)).slice(0, SUBJECTS_MAX),
  }));
}

function unknownKeys({ resources, prefix }: Facts): UpgradeFinding[] {
  const unknown = resources.filter((stat) => stat.place === undefined && !isCustom(stat) && stat.objects > 0);
  if (unknown.length === 0) return [];
  const keys = sumOf(unknown);
  return [
    {
      id: "keys-unknown",
      severity: "warning",
      title: `${counted(keys, "key")} ${keys === 1 ? "belongs" : "belong"} to no resource of any known release`,
      why: "No API server reads these keys. Another program may have written them, or a release that is older or newer than this program knows.",
      fix: ["Find out who wrote the keys before you delete them:", `$ etcdctl get --prefix --keys-only ${prefix}`],
      count: unknown.length,
      subjects: unknown
        .slice(0, SUBJECTS_MAX)
        .map(({ resource, objects }) => ({ name: `${prefix}${resource}`, detail: counted(objects, "key") })),
    },
  ];
}

/** The first segment of the key of a custom resource is its group, which has a dot. */
function isCustom({ place, group, objects }: ResourceStat): boolean {
  return place === undefined && group !== "" && objects > 0;
}

function subjectsIn(
  { types }: Facts,
  { stat, group }: CustomDefinition,
  versions: readonly CustomVersionState[],
): FindingSubject[] {
  if (stat === undefined) return [];
  const wanted = new Set(versions.map(({ version }) => `${group}/${version}`));
  const found = [...stat.versions.values()].filter(({ apiVersion }) => wanted.has(types.textOf(apiVersion)));
  return found
    .flatMap((version) =>
      subjectsOf(stat, version).map((subject) => ({
        ...subject,
        detail: `stored as ${types.textOf(version.apiVersion)}`,
      })),
    )
    .slice(0, SUBJECTS_MAX);
}

function subjectsOf(stat: ResourceStat, { names }: VersionStat): FindingSubject[] {
  return names.map((name) => ({ name: `${formatGroupResource(stat)} ${name}` }));
}

function sumOf(items: readonly { readonly objects: number }[]): number {
  return items.reduce((sum, { objects }) => sum + objects, 0);
}
