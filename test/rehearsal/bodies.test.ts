/**
 * Verifies that servers accept the objects that the clients of a rehearsal create. If a server rejected the objects of
 * a kind, the clients would silently only read that kind.
 */
import { describe, expect, test } from "vitest";
import { RELEASES } from "../../src/objects/catalog/release.ts";
import { resourcePath } from "../../src/client/paths.ts";
import { pathApis } from "../../src/tools/rehearsal/path-apis.ts";
import { loadTargets, resourceTypeOf, type LoadTarget } from "../../src/tools/rehearsal/targets.ts";
import { startServer } from "../api/start.ts";

const APIS = pathApis(RELEASES);
/** Kinds that are not tested, because they contain keys and certificates or are requests to a controller. */
const REFUSED: ReadonlySet<string> = new Set([
  "clustertrustbundles",
  "podcertificaterequests",
  "storageversionmigrations",
]);
/** The kinds of most clusters that have their own body. */
const IN_USE = [
  ...["/pods", "/persistentvolumeclaims", "apps/daemonsets", "apps/deployments", "apps/replicasets"],
  ...["apps/statefulsets", "batch/cronjobs", "batch/jobs", "networking.k8s.io/ingresses"],
  ...["networking.k8s.io/networkpolicies", "policy/poddisruptionbudgets", "rbac.authorization.k8s.io/rolebindings"],
  ...["rbac.authorization.k8s.io/clusterrolebindings", "autoscaling/horizontalpodautoscalers"],
].map((name) => ({ group: name.split("/")[0]!, resource: name.split("/")[1]!, count: 1 }));
const WRITTEN = [...loadTargets(APIS, RELEASES), ...loadTargets(APIS, RELEASES, { kinds: IN_USE })].filter(
  ({ use, resource }) => use === "all" && !REFUSED.has(resource),
);

function versionsIn({ group, resource, versions }: LoadTarget, release: (typeof RELEASES)[number]): readonly string[] {
  return versions.filter((version) =>
    APIS.some(
      (api) =>
        api.group === group && api.resource === resource && api.version === version && api.servedBy.includes(release),
    ),
  );
}

describe("the objects that the clients of a rehearsal create", () => {
  test.each(RELEASES)("are accepted by a server of release %s", async (release) => {
    await using server = await startServer({ release });
    const rejected: string[] = [];
    let sequence = 0;
    for (const target of WRITTEN)
      for (const version of versionsIn(target, release)) {
        const { group, kind, namespaced, bodies } = target;
        const apiVersion = group === "" ? version : `${group}/${version}`;
        const path = resourcePath(resourceTypeOf(target, version), namespaced ? { namespace: "default" } : {});
        const body = { apiVersion, kind, metadata: { name: `of-${version}-${sequence++}` }, ...bodies.get(version) };
        const response = await server.create(`${path}?fieldValidation=Strict`, body);
        if (response.status !== 201) rejected.push(`${apiVersion} ${kind}: ${response.body.message}`);
      }
    expect(rejected).toEqual([]);
  });
});
