/** Tests that controllers continue after the deletion of an object that could not be read. */
import { expect, test } from "vitest";
import { store } from "./corrupt-values.ts";
import { CONFIG_MAPS, configMap, startServer, type TestServer } from "./start.ts";

const UNSAFE = { ignoreStoreReadErrorWithClusterBreakingPotential: true };

function start(): Promise<TestServer> {
  return startServer({ release: "1.37", strictRelease: false, controllers: ["*"] });
}

test("the garbage collector deletes the dependents of an unreadable object after its deletion", async () => {
  await using api = await start();
  const owner = await api.create(CONFIG_MAPS, configMap("owner"));
  const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.body.metadata.uid };
  await api.create(CONFIG_MAPS, configMap("dependent", { metadata: { ownerReferences: [reference] } }));
  await api.world.advance(30_000);
  await store(api, "junk", "/registry/configmaps/default/owner");
  await api.world.advance(60_000);
  expect((await api.get(`${CONFIG_MAPS}/dependent`)).status).toBe(200);
  expect((await api.delete(`${CONFIG_MAPS}/owner`, UNSAFE)).status).toBe(200);
  await api.world.advance(60_000);
  expect((await api.get(`${CONFIG_MAPS}/dependent`)).status).toBe(404);
});

test("a terminating namespace is removed after the deletion of its unreadable object", async () => {
  await using api = await start();
  await api.create("/api/v1/namespaces", { metadata: { name: "team" } });
  await store(api, "junk", "/registry/secrets/team/bad");
  await api.world.advance(10_000);
  await api.delete("/api/v1/namespaces/team");
  await api.world.advance(60_000);
  expect((await api.get("/api/v1/namespaces/team")).body.status.phase).toBe("Terminating");
  expect((await api.delete("/api/v1/namespaces/team/secrets/bad", UNSAFE)).status).toBe(200);
  await api.world.advance(120_000);
  expect((await api.get("/api/v1/namespaces/team")).status).toBe(404);
});
