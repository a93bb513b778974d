/** Returns the warning that clients of a deprecated CRD version receive. */
import type { Crd, CrdVersion } from "../crd.ts";
import { compareApiVersions } from "../../../serving/discovery/order.ts";

/** Undefined if the version is not deprecated. */
export function deprecationWarning(crd: Crd, version: CrdVersion): string | undefined {
  if (!version.isDeprecated) return undefined;
  if (version.deprecationWarning !== undefined) return version.deprecationWarning;
  const { group, names, versions } = crd;
  const [better] = versions
    .filter(
      ({ isServed, isDeprecated, name }) => isServed && !isDeprecated && compareApiVersions(name, version.name) < 0,
    )
    .map(({ name }) => name)
    .sort(compareApiVersions);
  const instead = better === undefined ? "" : `; use ${group}/${better} ${names.kind}`;
  return `${group}/${version.name} ${names.kind} is deprecated${instead}`;
}
