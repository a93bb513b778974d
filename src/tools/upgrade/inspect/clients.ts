/** Decides for each client that wrote through an API version whether it can still do so after the upgrade. */
import type { Catalog, CatalogVersion } from "../../../objects/catalog/catalog.ts";
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import { formatGroupVersion, parseGroupVersion } from "../../../meta/group-version.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import { bounded, type ResourceStat } from "./collect/resource-stats.ts";
import type { WriterStat } from "./collect/writers.ts";
import type { CustomDefinition } from "./custom-definitions.ts";
import { OTHERS, type ClientStatus, type ClientTally } from "./inspection.ts";
import type { ReleaseView } from "./releases/release-views.ts";
import type { ByteStrings } from "./scan/byte-strings.ts";

const CLIENTS_MAX = 2_000;
const MS_PER_SECOND = 1000;

interface ClientFacts {
  readonly writers: readonly WriterStat[];
  readonly resources: readonly ResourceStat[];
  readonly strings: ByteStrings;
  /** The built-in group versions that the servers have registered; undefined if the data does not show them. */
  readonly served: ReadonlySet<string> | undefined;
  /** Whether the data shows the flags of the servers, so that `from` serves what they serve. */
  readonly areFlagsKnown: boolean;
  readonly from: ReleaseView | undefined;
  readonly hops: readonly ReleaseView[];
  readonly definitions: ReadonlyMap<string, CustomDefinition>;
}

type Verdict = Pick<ClientTally, "status" | "release" | "replacement" | "staysServed">;

const ORDER: readonly ClientStatus[] = ["removed", "disabled", "deprecated", "unserved", "older", "current"];

export function clientTallies(facts: ClientFacts): ClientTally[] {
  const verdicts = new Map<string, Verdict>();
  const tallies = facts.writers.map((writer): ClientTally => {
    const stat = facts.resources[writer.resource];
    const apiVersion = bounded(facts.strings.textOf(writer.apiVersion));
    const key = `${apiVersion} ${writer.resource}`;
    let verdict = verdicts.get(key);
    if (verdict === undefined) verdicts.set(key, (verdict = verdictOn(facts, apiVersion, stat)));
    return {
      manager: bounded(facts.strings.textOf(writer.manager)),
      group: stat?.group ?? "",
      resource: stat?.resource ?? OTHERS,
      apiVersion,
      objects: writer.objects,
      ...(writer.last === 0 ? {} : { lastTime: timestampAt(writer.last * MS_PER_SECOND) }),
      ...verdict,
    };
  });
  const sorted = tallies.toSorted((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status) || b.objects - a.objects);
  return withOthers(sorted);
}

function withOthers(sorted: ClientTally[]): ClientTally[] {
  const rest = sorted.slice(CLIENTS_MAX);
  if (rest.length === 0) return sorted;
  const objects = rest.reduce((sum, tally) => sum + tally.objects, 0);
  const others: ClientTally = {
    manager: OTHERS,
    group: "",
    resource: OTHERS,
    apiVersion: OTHERS,
    objects,
    status: "current",
  };
  return [...sorted.slice(0, CLIENTS_MAX), others];
}

function verdictOn(facts: ClientFacts, apiVersion: string, stat: ResourceStat | undefined): Verdict {
  if (stat === undefined || apiVersion === OTHERS) return { status: "current" };
  const { group, version } = parseGroupVersion(apiVersion);
  const target = { group, version, resource: stat.resource };
  const definition = facts.definitions.get(`${stat.resource}.${stat.group}`);
  return definition === undefined ? builtInVerdict(facts, target) : customVerdict(definition, target);
}

function customVerdict({ versions, group }: CustomDefinition, target: Target): Verdict {
  const found = group === target.group ? versions.find(({ version }) => version === target.version) : undefined;
  if (found === undefined || !found.isServed) return { status: "unserved" };
  const storage = versions.find(({ isStorage }) => isStorage)?.version;
  const replacement = storage === undefined ? {} : { replacement: formatGroupVersion({ group, version: storage }) };
  if (found.isDeprecated) return { status: "deprecated", ...replacement };
  return { status: "current" };
}

interface Target {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

function builtInVerdict(facts: ClientFacts, target: Target): Verdict {
  if (!isServedNow(facts, target)) return { status: "unserved" };
  const { from, hops } = facts;
  const removing = hops.find(({ widest }) => versionIn(widest, target) === undefined);
  const replacement = replacementOf({ from, hops }, target);
  if (removing !== undefined)
    return from === undefined && !isKnown(hops, target)
      ? { status: "unserved" }
      : { status: "removed", release: removing.release, ...replacement };
  const disabling = hops.find(({ catalog }) => versionIn(catalog, target) === undefined);
  if (disabling !== undefined) return { status: "disabled", release: disabling.release, ...replacement };
  return servedVerdict({ from, hops }, target, replacement);
}

/** If nothing shows the flags of the servers, each version that they could serve counts as served. */
function isServedNow({ from, served, areFlagsKnown }: ClientFacts, target: Target): boolean {
  if (served !== undefined) return served.has(formatGroupVersion(target));
  if (from === undefined) return true;
  return versionIn(areFlagsKnown ? from.catalog : from.widest, target) !== undefined;
}

function servedVerdict(
  { from, hops }: Pick<ClientFacts, "from" | "hops">,
  target: Target,
  replacement: Pick<Verdict, "replacement">,
): Verdict {
  const views = [...(from === undefined ? [] : [from]), ...hops];
  const deprecating = views.find(({ release, widest }) => {
    const deprecated = versionIn(widest, target)?.lifecycle?.deprecated;
    return deprecated !== undefined && !isOlderText(release, deprecated);
  });
  if (deprecating !== undefined)
    return {
      status: "deprecated",
      // A version that is deprecated already does not depend on the upgrade.
      ...(deprecating === views[0] ? {} : { release: deprecating.release }),
      ...(isRemovalPlanned(views, target) ? {} : { staysServed: true }),
      ...replacement,
    };
  const preferred = preferredVersion(views.at(-1)?.catalog, target);
  if (preferred !== undefined && preferred !== target.version)
    return { status: "older", replacement: formatGroupVersion({ group: target.group, version: preferred }) };
  return { status: "current" };
}

/** Kubernetes plans no removal of a deprecated stable version, such as v1 of endpoints. */
function isRemovalPlanned(views: readonly ReleaseView[], target: Target): boolean {
  return views.some(({ widest }) => versionIn(widest, target)?.lifecycle?.removed !== undefined);
}

/** Whether any of the hops has the group and resource at all. */
function isKnown(hops: readonly ReleaseView[], { group, resource }: Target): boolean {
  return hops.some(({ widest }) => widest.resource(group, resource) !== undefined);
}

function replacementOf(
  { from, hops }: Pick<ClientFacts, "from" | "hops">,
  target: Target,
): Pick<Verdict, "replacement"> {
  const views = [...hops.toReversed(), ...(from === undefined ? [] : [from])];
  const version = views.map(({ widest }) => versionIn(widest, target)).find((one) => one?.lifecycle?.replacement);
  const other = version?.lifecycle?.replacement;
  if (other !== undefined)
    return { replacement: `${formatGroupVersion(other)}${other.kind === version?.kind ? "" : ` ${other.kind}`}` };
  const preferred = preferredVersion(hops.at(-1)?.catalog, target);
  if (preferred === undefined || preferred === target.version) return {};
  return { replacement: formatGroupVersion({ group: target.group, version: preferred }) };
}

function preferredVersion(catalog: Catalog | undefined, { group, resource }: Target): string | undefined {
  return catalog?.resource(group, resource)?.versions[0]?.version;
}

function versionIn(catalog: Catalog, { group, version, resource }: Target): CatalogVersion | undefined {
  return catalog.resource(group, resource)?.versions.find((one) => one.version === version);
}

/** Whether a release is older than that of a lifecycle, which may be older than all releases of the catalog. */
function isOlderText(release: ReleaseName, other: string): boolean {
  return Number(release.slice("1.".length)) < Number(other.slice("1.".length));
}
