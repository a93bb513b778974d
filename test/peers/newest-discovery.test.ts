/** Tests of --discovery-mode=newest with servers of three releases. */
import { describe, expect, test } from "vitest";
import { AGGREGATED, groupNames, NO_PEER, resourcesIn, type PeerResponse } from "./client.ts";
import { startCluster, type Member, type TestCluster } from "./cluster.ts";
import { eventually } from "./wait.ts";

const peers = { discoveryMode: "newest" };
/** OLD is served by 1.31 and older releases, NEW by 1.34 and newer releases. */
const OLD = "flowcontrol.apiserver.k8s.io/v1beta3";
const NEW = "resource.k8s.io/v1";

async function threeReleases(): Promise<{ cluster: TestCluster; old: Member; middle: Member; newest: Member }> {
  const cluster = await startCluster(["1.30", "1.33", "1.36"].map((release) => ({ release, peers })));
  const [old, middle, newest] = cluster.members as [Member, Member, Member];
  return { cluster, old, middle, newest };
}

const seen = ({ status, headers, text }: PeerResponse): unknown[] => [
  status,
  headers["content-type"],
  headers.etag,
  text,
];

const asPeer = (member: Member, path: string, accept: string): Promise<PeerResponse> =>
  member.call(path, { asProxy: true, token: "", headers: { "x-remote-user": "peer", accept } });

const FORMS: readonly (readonly [path: string, accept: string])[] = [
  ["/api", AGGREGATED],
  ["/apis", AGGREGATED],
  ["/apis", "application/json"],
  ["/apis", "application/yaml"],
  ["/api/v1", "application/json"],
  ["/apis/resource.k8s.io", "application/json"],
  [`/apis/${NEW}`, "application/json"],
  ["/openapi/v3", "application/json"],
  [`/openapi/v3/apis/${NEW}`, "application/json"],
  ["/openapi/v2", "application/json"],
];

describe("--discovery-mode=newest", () => {
  test("returns the document of the newest server in every format, through each server", async () => {
    const { cluster, old, middle, newest } = await threeReleases();
    await using _ = cluster;
    for (const [path, accept] of FORMS) {
      const isAggregated = accept === AGGREGATED;
      const own = isAggregated
        ? await newest.get(path, { accept: AGGREGATED + NO_PEER })
        : await asPeer(newest, path, accept);
      expect(own.status).toBe(200);
      for (const member of [old, middle, newest]) expect(seen(await member.get(path, { accept }))).toEqual(seen(own));
    }
  });

  test("does not list resources that only an older server serves, but requests for them are served", async () => {
    const { cluster, old, newest } = await threeReleases();
    await using _ = cluster;
    const resource = `${OLD} flowschemas`;
    for (const member of [old, newest]) {
      expect(resourcesIn(await member.discovery("/apis"))).not.toContain(resource);
      expect((await member.get(`/apis/${OLD}`)).status).toBe(404);
      expect((await member.get(`/apis/${OLD}/flowschemas`)).status).toBe(200);
    }
    expect(resourcesIn(await old.discovery("/apis", NO_PEER))).toContain(resource);
  });

  test("falls back to the server of the next release while the newest server is unreachable, and after the newest server has departed", async () => {
    const { cluster, old, middle, newest } = await threeReleases();
    await using _ = cluster;
    const shows = (member: Member, text: string): Promise<PeerResponse> =>
      eventually(
        () => member.get("/apis", { accept: AGGREGATED }),
        (response) => response.text === text,
      );
    const [ofMiddle, ofNewest] = await Promise.all(
      [middle, newest].map(async (member) => (await member.get("/apis", { accept: AGGREGATED + NO_PEER })).text),
    );
    newest.link.cut();
    await shows(old, ofMiddle!);
    expect((await old.get("/openapi/v3")).text).not.toContain(`apis/${NEW}`);
    newest.link.mend();
    await shows(old, ofNewest!);
    await newest.stop();
    for (const member of [old, middle]) await shows(member, ofMiddle!);
    // A request for a resource whose last server has just departed does not return 404 yet, whatever discovery lists.
    expect((await old.get(`/apis/${NEW}/resourceclaims`)).status).toBe(503);
  });

  test("returns the local document to a peer, so that a discovery request makes one hop at most", async () => {
    const { cluster, old } = await threeReleases();
    await using _ = cluster;
    const reported = await asPeer(old, "/apis", AGGREGATED);
    expect(groupNames(reported.body)).toEqual(groupNames(await old.discovery("/apis", NO_PEER)));
    expect(resourcesIn(reported.body)).not.toContain(`${NEW} resourceclaims`);
  });
});
