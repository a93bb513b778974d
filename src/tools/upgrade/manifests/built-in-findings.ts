/** Findings about the APIs of Kubernetes: those that an upgrade removes, deprecates or adds, and those off by default. */
import type { RuntimeConfig } from "../../../objects/catalog/runtime-config.ts";
import type { FoundProblem } from "./finding-groups.ts";
import { apisOfKind, findKnownApi, isAlpha, NEWEST_KNOWN, releaseOfMinor, type KnownApi } from "./known-apis.ts";
import { migrationHints } from "./migration-hints.ts";
import type { Minor } from "./removed-apis.ts";

export interface Releases {
  /** The current release of the cluster, if the user names it. */
  readonly from: Minor | undefined;
  /** The target releases, oldest first. */
  readonly to: readonly Minor[];
  /** The runtime config of the servers. */
  readonly runtimeConfig: RuntimeConfig;
}

/** At most one finding: the most severe one. */
export function builtInFindings(api: KnownApi, releases: Releases): readonly FoundProblem[] {
  const found =
    removedFinding(api, releases) ??
    notYetFinding(api, releases) ??
    offFinding(api, releases) ??
    deprecatedFinding(api, releases) ??
    appearingFinding(api, releases);
  return found === undefined ? [] : [{ key: `${api.apiVersion} ${api.kind}`, ...found }];
}

type Found = Omit<FoundProblem, "key">;

function removedFinding(api: KnownApi, releases: Releases): Found | undefined {
  const { removed } = api;
  if (removed === undefined || statesIn(api, releases, "removed").length === 0) return undefined;
  const replacement = replacementOf(api, releases);
  return {
    id: "removed-api",
    severity: "error",
    title: `${nameOf(api)} is not served from ${releaseOfMinor(removed)} on`,
    why:
      replacement === undefined
        ? "kubectl, Helm and GitOps tools fail to apply it, and no API version gives access to existing objects."
        : "kubectl, Helm and GitOps tools fail to apply it. Existing objects stay, and are served in the other version.",
    fix: migrationSteps(api, replacement, releases),
    release: releaseOfMinor(removed),
  };
}

function notYetFinding(api: KnownApi, releases: Releases): Found | undefined {
  const missing = statesIn(api, releases, "not yet");
  if (missing.length === 0) return undefined;
  const older = replacementOf(api, releases);
  return {
    id: "not-yet-served",
    severity: "error",
    title: `${nameOf(api)} is served from ${releaseOfMinor(api.introduced)} on, but not by ${inWords(missing)}`,
    why: "The API server rejects the object, and clients report that the kind does not exist.",
    fix:
      older === undefined
        ? [`Apply it only to clusters of ${releaseOfMinor(api.introduced)} or newer.`]
        : [`Use ${older.apiVersion} for these releases, or apply it after the upgrade.`],
  };
}

function offFinding(api: KnownApi, releases: Releases): Found | undefined {
  const off = statesIn(api, releases, "off");
  const alpha = isAlpha(api.version);
  if (off.length === 0) return alpha ? enabledAlpha(api) : undefined;
  const replacement = replacementOf(api, releases);
  const flags = [
    `--runtime-config=${api.apiVersion}=true`,
    ...(api.gate === undefined ? [] : [`--feature-gates=${api.gate}=true`]),
  ];
  return {
    id: alpha ? "alpha-api" : "off-by-default-api",
    severity: "warning",
    title: `${nameOf(api)} is off by default in ${inWords(off)}`,
    why: `Only servers with ${flags.join(" and ")} accept it. ${alpha ? UNSTABLE : "New beta APIs are off by default since 1.24."}`,
    fix:
      replacement === undefined
        ? [`Set ${flags.join(" and ")} on every kube-apiserver, and pass --runtime-config to this check.`]
        : migrationSteps(api, replacement, releases),
  };
}

const UNSTABLE = "An alpha API may change or vanish in any release, without a deprecation.";

function enabledAlpha(api: KnownApi): Found {
  return { id: "alpha-api", severity: "info", title: `${nameOf(api)} is an alpha API`, why: UNSTABLE, fix: [] };
}

function deprecatedFinding(api: KnownApi, releases: Releases): Found | undefined {
  const { deprecated, removed } = api;
  const newest = releases.to.at(-1) ?? NEWEST_KNOWN;
  if (deprecated === undefined || deprecated > newest) return undefined;
  const replacement = replacementOf(api, releases);
  const until =
    removed === undefined
      ? ""
      : removed > NEWEST_KNOWN
        ? `, and ${releaseOfMinor(removed)} is expected to remove it`
        : `, and not served from ${releaseOfMinor(removed)} on`;
  return {
    id: "deprecated-api",
    severity: removed === undefined ? "info" : "warning",
    title: `${nameOf(api)} is deprecated since ${releaseOfMinor(deprecated)}${until}`,
    why:
      removed === undefined
        ? "It works, and Kubernetes has not announced a removal. The server returns a warning for each request."
        : `It still works in ${inWords(releases.to)}, but a later upgrade fails. The server returns a warning for each request.`,
    fix: migrationSteps(api, replacement, releases),
    release: releaseOfMinor(deprecated),
  };
}

function appearingFinding(api: KnownApi, { from, runtimeConfig }: Releases): Found | undefined {
  if (from === undefined || api.stateIn(from, runtimeConfig) !== "not yet") return undefined;
  return {
    id: "not-yet-served",
    severity: "info",
    title: `${nameOf(api)} is served from ${releaseOfMinor(api.introduced)} on, but not by ${releaseOfMinor(from)}`,
    why: "The object can be applied only after the upgrade.",
    fix: [],
    release: releaseOfMinor(api.introduced),
  };
}

function migrationSteps(api: KnownApi, replacement: KnownApi | undefined, releases: Releases): readonly string[] {
  const hints = migrationHints(api.apiVersion, api.kind);
  if (replacement === undefined)
    return hints.length > 0 ? hints : ["Remove the object; Kubernetes has no replacement."];
  const { apiVersion, kind, introduced } = replacement;
  const since = introduced === 0 ? "" : `, which is served from ${releaseOfMinor(introduced)} on`;
  const change =
    kind === api.kind ? `Change apiVersion to ${apiVersion}${since}.` : `Use ${kind} of ${apiVersion}${since}.`;
  const convert =
    kind === api.kind && !isAlpha(api.version) ? [`$ kubectl convert -f FILE --output-version ${apiVersion}`] : [];
  return [change, ...laterStep(api, replacement, releases), ...hints, ...convert];
}

/** The newest version may be unknown to the current release, while an older one works before and after the upgrade. */
function laterStep(api: KnownApi, replacement: KnownApi, { from, to, runtimeConfig }: Releases): readonly string[] {
  if (from === undefined || isOn(replacement, [from], runtimeConfig)) return [];
  const both = alternatives(api).find((other) => isOn(other, [from, ...to], runtimeConfig));
  const now = releaseOfMinor(from);
  return both === undefined
    ? [`${now} does not serve it: apply the changed manifest after the upgrade.`]
    : [`${now} does not serve it: until the upgrade use ${both.apiVersion}, which works before and after it.`];
}

/** The most stable other version that the targets serve, by default if there is such a version. */
function replacementOf(api: KnownApi, { to, runtimeConfig }: Releases): KnownApi | undefined {
  const others = alternatives(api);
  const [last = NEWEST_KNOWN] = to.slice(-1);
  return (
    others.find((other) => isOn(other, to, runtimeConfig)) ??
    others.find((other) => isOn(other, [last], runtimeConfig)) ??
    others.find((other) => other.stateIn(last, runtimeConfig) === "off" && api.stateIn(last, runtimeConfig) !== "off")
  );
}

/** Stable versions first, then the newest. */
function alternatives(api: KnownApi): readonly KnownApi[] {
  const { group, kind, replacement } = api;
  const moved = replacement === undefined ? undefined : findKnownApi(replacement.apiVersion, replacement.kind);
  const sameKind = apisOfKind(kind).filter((other) => other.group === group && other !== api);
  const movedKind = moved === undefined ? [] : apisOfKind(moved.kind).filter((other) => other.group === moved.group);
  return [...movedKind, ...sameKind]
    .filter((other) => other !== api)
    .toSorted((left, right) => stability(right) - stability(left));
}

function stability({ version }: KnownApi): number {
  return isAlpha(version) ? 0 : /beta/.test(version) ? 1 : 2;
}

function isOn(api: KnownApi, releases: readonly Minor[], runtimeConfig: RuntimeConfig): boolean {
  return releases.every((release) => api.stateIn(release, runtimeConfig) === "on");
}

function statesIn(api: KnownApi, { to, runtimeConfig }: Releases, state: string): readonly Minor[] {
  return to.filter((release) => api.stateIn(release, runtimeConfig) === state);
}

function nameOf({ kind, apiVersion }: KnownApi): string {
  return `${kind} of ${apiVersion}`;
}

function inWords(releases: readonly Minor[]): string {
  const names = releases.map(releaseOfMinor);
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
}
