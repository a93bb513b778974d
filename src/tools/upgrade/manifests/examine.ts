/** Compares manifests with the releases of an upgrade, and reports each kind of problem once with all its objects. */
import { closestName } from "../../../base/closest-name.ts";
import { objectAt, specOf, stringAt } from "../../../meta/json.ts";
import { parseGroupVersion } from "../../../meta/group-version.ts";
import type { UpgradeFinding } from "../finding.ts";
import { builtInFindings, type Releases } from "./built-in-findings.ts";
import { CustomKinds, type CustomKind } from "./custom-kinds.ts";
import { FindingGroups, type FoundProblem, type ManifestSubject } from "./finding-groups.ts";
import {
  apisOfKind,
  findKnownApi,
  isKubernetesGroup,
  kubernetesKinds,
  NEWEST_KNOWN,
  OLDEST_KNOWN,
  releaseOfMinor,
} from "./known-apis.ts";
import { isNeverStored } from "./other-kinds.ts";
import { problemFinding, problemSubject } from "./read-problems.ts";
import type { Manifest, ReadManifests } from "./read-manifests.ts";

/** Findings about files come first, because they say what has not been checked. */
export function manifestFindings(
  read: ReadManifests,
  releases: Releases,
  crds: readonly Manifest[] = [],
): readonly UpgradeFinding[] {
  const groups = new FindingGroups();
  for (const problem of read.problems) groups.add(problemFinding(problem), problemSubject(problem));
  const examine = manifestExaminer(releases, [...read.manifests, ...crds]);
  for (const manifest of read.manifests) {
    for (const problem of examine(manifest)) groups.add(problem, subjectOf(manifest));
  }
  return groups.findings();
}

/** Returns a function that examines one object; `crds` may contain other objects, too. */
export function manifestExaminer(
  releases: Releases,
  crds: readonly Manifest[],
): (manifest: Manifest) => readonly FoundProblem[] {
  const custom = new CustomKinds(crds);
  return (manifest) => {
    const { apiVersion, kind } = manifest;
    const api = findKnownApi(apiVersion, kind);
    if (api !== undefined) return [...builtInFindings(api, releases), ...referenceFindings(manifest, releases)];
    const { group, version } = parseGroupVersion(apiVersion);
    const defined = custom.find(group, kind);
    if (defined !== undefined) return customFindings(defined, version);
    if (isNeverStored(apiVersion, kind)) return [NEVER_STORED];
    // As Kubernetes: only its own groups have names without a dot.
    return isKubernetesGroup(group) || !group.includes(".") ? [unknownFinding(apiVersion, kind)] : [NOT_CHECKED];
  };
}

function subjectOf({ file, line, source, apiVersion, kind, namespace, name }: Manifest): ManifestSubject {
  const place = source === undefined ? `${file}:${line}` : `${file}:${line}, from ${source}`;
  const shownName = name === "" ? "without a name" : name;
  return {
    name: `${kind} ${namespace === "" ? shownName : `${namespace}/${shownName}`}`,
    detail: place,
    ...{ file, line, apiVersion, kind, namespace, objectName: name },
    ...(source !== undefined && { source }),
  };
}

const NEVER_STORED: FoundProblem = {
  key: "never-stored",
  id: "not-an-api-object",
  severity: "info",
  title: "Configuration files and request bodies are not checked",
  why: "No API server stores these kinds, so an upgrade of the API servers does not affect them.",
  fix: [],
};

const NOT_CHECKED: FoundProblem = {
  key: "custom",
  id: "custom-resource-not-checked",
  severity: "info",
  title: "Custom resources are not checked, because none of the files contains their CRDs",
  why: "Whether the cluster serves their versions depends on the CRDs that are installed.",
  fix: ["Pass the CRDs of the cluster with --crds:", "$ kubectl get crds -o yaml > crds.yaml"],
};

function customFindings({ group, kind, versions }: CustomKind, version: string): FoundProblem[] {
  const found = versions.get(version);
  const served = [...versions].flatMap(([name, { isServed }]) => (isServed ? [name] : []));
  const [key, what] = [`${group}/${version} ${kind}`, `${kind} of ${group}/${version}`];
  if (found?.isServed !== true) {
    const which = served.length === 0 ? "no version" : `only ${served.join(", ")}`;
    return [
      {
        key,
        id: "crd-version-not-served",
        severity: "error",
        title: `${what} is not served, because its CRD serves ${which}`,
        why: "The API server rejects the object, and clients report that the kind does not exist.",
        fix: [
          served.length === 0
            ? "Serve a version in the CRD."
            : `Change apiVersion to ${group}/${served.at(-1)}, and adapt the fields to the schema of that version.`,
        ],
      },
    ];
  }
  if (found.deprecation === undefined) return [];
  return [
    {
      key,
      id: "crd-version-deprecated",
      severity: "warning",
      title: `${what} is deprecated by its CRD`,
      why: found.deprecation === "" ? "A later version of the CRD may not serve it." : found.deprecation,
      fix: [`Move to a version that is not deprecated; the CRD serves ${served.join(", ")}.`],
    },
  ];
}

function unknownFinding(apiVersion: string, kind: string): FoundProblem {
  const [similar] = apisOfKind(kind).filter(({ removed }) => removed === undefined);
  const span = `${releaseOfMinor(OLDEST_KNOWN)} to ${releaseOfMinor(NEWEST_KNOWN)}`;
  const base = { key: `${apiVersion} ${kind}`, severity: "error" } as const;
  const why = "The API server rejects the object, and clients report that the kind does not exist.";
  const title = `No release from ${span} has ${kind} in ${apiVersion}`;
  if (apisOfKind(kind).length > 0) {
    const fix =
      similar === undefined ? "Check apiVersion." : `Check apiVersion; ${kind} is served as ${similar.apiVersion}.`;
    return { ...base, id: "unknown-api-version", title, why, fix: [fix] };
  }
  const meant = closestName(kind, kubernetesKinds());
  const hint = meant === undefined ? "" : `; the most similar kind is ${meant}`;
  return { ...base, id: "unknown-kind", title, why, fix: [`Check apiVersion and kind${hint}.`] };
}

/** An autoscaler finds its target by group and kind; the version need not be served. */
function referenceFindings({ kind, object }: Manifest, { to, runtimeConfig }: Releases): FoundProblem[] {
  if (kind !== "HorizontalPodAutoscaler") return [];
  const target = objectAt(specOf(object), "scaleTargetRef");
  const [apiVersion, targetKind] = [stringAt(target, "apiVersion"), stringAt(target, "kind")];
  const { group } = parseGroupVersion(apiVersion);
  const versions = apisOfKind(targetKind);
  const gone = to.find((release) => {
    const served = versions.filter((api) => ["on", "off"].includes(api.stateIn(release, runtimeConfig)));
    return served.length > 0 && served.every((api) => api.group !== group);
  });
  const removed = versions.find((api) => api.group === group)?.removed;
  if (gone === undefined || removed === undefined) return [];
  const instead = findKnownApi(apiVersion, targetKind)?.replacement?.apiVersion ?? versions[0]?.apiVersion ?? "";
  return [
    {
      key: `${apiVersion} ${targetKind}`,
      id: "removed-api-reference",
      severity: "error",
      title: `scaleTargetRef names ${targetKind} of ${apiVersion}, which is not served from ${releaseOfMinor(removed)} on`,
      why: "The autoscaler does not find its target and stops scaling it.",
      fix: [`Change spec.scaleTargetRef.apiVersion to ${instead}.`],
      release: releaseOfMinor(removed),
    },
  ];
}
