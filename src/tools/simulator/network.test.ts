import { expect, test } from "vitest";
import { jsonResponse } from "../../serving/http/respond.ts";
import { Host } from "./host.ts";
import { Network, NO_FAULTS } from "./network.ts";
import { createPeerCertificate } from "./peer-certificate.ts";
import { World } from "./world.ts";

const ADDRESS = { host: "10.1.0.2", port: 6443 };

test("a connection that is cut while its response is delayed fails the request", async () => {
  const world = new World({ seed: 1 });
  const { clock } = world;
  const hostOf = (name: string): Host => new Host({ name, clock, random: world.randomFor(name) });
  const certificate = createPeerCertificate(clock.now());
  const network = new Network({ clock, random: world.randomFor("network"), certificate, onHop: () => {} });
  network.rates = { ...NO_FAULTS, cut: 1 };
  const handle = async (): Promise<ReturnType<typeof jsonResponse>> => {
    network.links.block("there", "here");
    return jsonResponse(200, {});
  };
  network.listen(ADDRESS, "there", { name: "there", host: hostOf("there"), handle });
  const upstream = network.openUpstream({ name: "here", host: hostOf("here"), ip: "10.1.0.1" });
  const sending = upstream.send({
    ...{ address: ADDRESS, method: "GET", target: "/api", headers: [], body: undefined, contentLength: undefined },
    ...{ isUpgrade: false, signal: new AbortController().signal },
  });
  await expect(world.run(sending, 60_000)).rejects.toMatchObject({ failure: "reset", isSent: true });
  network.links.unblockAll();
  await world.advance(1_000);
});
