/**
 * Tests of namespaces that are deleted while the only server that serves some of their objects is temporarily or
 * permanently absent.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { IN_ORDER, KubectlSession } from "../clients/kubectl-session.ts";
import { findTools } from "../clients/tools.ts";
import { run } from "../smoke/start-evenkeel.ts";
import {
  CLAIMS,
  deleteNamespace,
  fillNamespace,
  finalizeByForce,
  keysOf,
  NEWER,
  openTwoServers,
  purgeNamespace,
  untilCondition,
  untilGone,
  type TwoServers,
} from "./namespace-deletion.ts";
import type { Member } from "./start-cluster.ts";
import { poll } from "./storage-versions.ts";

/** Long enough for leases to expire, even on a busy machine. */
const TIMEOUT_MS = 180_000;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);
const tools = isMissing ? undefined : findTools();
if (tools?.missing !== undefined) console.warn(tools.missing);
const kubectlPath = tools?.kubectls.findLast(({ path }) => path !== undefined)?.path;

describe.skipIf(kubectlPath === undefined)("a namespace that is deleted", { timeout: TIMEOUT_MS }, () => {
  const session = (server: Member, namespace: string): KubectlSession =>
    new KubectlSession({ path: kubectlPath!, server, namespace });

  describe.each([
    ["stopped", "a", (server: Member) => server.stop()],
    ["stopped", "b", (server: Member) => server.stop()],
    ["killed", "a", (server: Member) => server.kill9()],
    ["killed", "b", (server: Member) => server.kill9()],
  ] as const)(
    "while the only server of one of its resources is %s, and server %s runs the controllers,",
    { concurrent: true },
    (how, first, end) => {
      const namespace = `${how}-${first}-leads`;
      const content = [`namespaces/${namespace}`, `resourceclaims/${namespace}/gpu`];
      let two: TwoServers;
      let a: Member;
      let kubectl: KubectlSession;
      const stored = (): Promise<string[]> => keysOf(two.kv, namespace);
      beforeAll(async () => {
        two = await openTwoServers(first);
        a = two.a;
        kubectl = session(a, namespace);
        await fillNamespace(kubectl);
      });
      afterAll(() => two?.[Symbol.asyncDispose]());

      test(
        "stays, reports the resource and the server in its conditions, and loses all other objects",
        IN_ORDER,
        async () => {
          await end(two.b);
          const at = Date.now();
          await deleteNamespace(kubectl);
          const blame = new RegExp(`\\b${CLAIMS.replaceAll(".", "\\.")}\\b.*: b (departed at|cannot be reached)`);
          const message = await untilCondition(kubectl, "NamespaceDeletionDiscoveryFailure", blame);
          console.info(`${namespace}: ${Date.now() - at} ms after the deletion: ${message}`);
          await poll(stored, (keys) => keys.length <= content.length);
          expect(await stored()).toEqual(content);
          console.info(`${namespace}: everything else gone after ${Date.now() - at} ms`);
          expect(await kubectl.runWithMessages("get", "pods,configmaps,serviceaccounts,deployments")).toMatch(
            /^No resources found/,
          );
        },
      );

      test("can neither be finalized by another client nor be purged", IN_ORDER, async () => {
        expect(await finalizeByForce(a, namespace)).toMatchObject({
          status: 409,
          body: { reason: "Conflict", message: expect.stringContaining(`still holds 1 object: 1 ${CLAIMS}`) },
        });
        for (const more of [[], ["--yes"]])
          expect(await purgeNamespace(a, namespace, ...more)).toEqual({
            code: 1,
            stdout: expect.stringMatching(
              new RegExp(`^None of the remaining objects .*\nKept:\n  1 ${CLAIMS}: b .*, and may serve it\n$`),
            ),
            stderr: "",
          });
        expect(await stored()).toEqual(content);
      });

      test("still stays after the absent server counts as departed", IN_ORDER, async () => {
        const message = await untilCondition(kubectl, "NamespaceDeletionDiscoveryFailure", /: b departed at /);
        console.info(`${namespace}: ${message}`);
        expect((await finalizeByForce(a, namespace)).status).toBe(409);
        expect(await stored()).toEqual(content);
      });

      test(
        "is removed soon after the server has returned, and the store contains none of its keys",
        IN_ORDER,
        async () => {
          const b = await two.cluster.start({ id: "b", release: NEWER, port: two.b.port });
          const ms = await untilGone(a, namespace);
          console.info(`${namespace}: gone ${ms} ms after the server was ready again`);
          expect(await stored()).toEqual([]);
          expect((await b.request("GET", `/api/v1/namespaces/${namespace}`)).status).toBe(404);
        },
      );
    },
  );

  test("can be purged if the only server of some of its objects never returns", { concurrent: true }, async () => {
    const namespace = "abandoned";
    await using two = await openTwoServers("a", ["--departed-grace", "3s"]);
    const { a, b } = two;
    const stored = (): Promise<string[]> => keysOf(two.kv, namespace);
    const kubectl = session(a, namespace);
    await fillNamespace(kubectl, ["example.com/hold"]);
    expect(await purgeNamespace(a, namespace, "--yes")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^evenkeel: [^\n]*it is not being deleted[^\n]*\n$/),
    });
    await b.stop();
    const at = Date.now();
    await deleteNamespace(kubectl);
    const wayOut = new RegExp(`serves ${CLAIMS}: run "evenkeel purge-namespace ${namespace}"`);
    const message = await untilCondition(kubectl, "NamespaceDeletionContentFailure", wayOut);
    console.info(`the remedy is reported ${Date.now() - at} ms after the deletion: ${message}`);
    expect((await finalizeByForce(a, namespace)).status).toBe(409);

    const listed = `Namespace ${namespace} has 1 object that no server serves:\n  ${CLAIMS} gpu\n`;
    const unconfirmed = await purgeNamespace(a, namespace);
    expect(unconfirmed).toMatchObject({ code: 2, stdout: listed, stderr: expect.stringContaining("use --yes") });
    expect(await stored()).toEqual([`namespaces/${namespace}`, `resourceclaims/${namespace}/gpu`]);
    const confirmed = await purgeNamespace(a, namespace, "--yes");
    expect(confirmed).toEqual({
      code: 0,
      stdout: `${listed}Removed 1 object of namespace ${namespace}.\n`,
      stderr: "",
    });
    console.info(`gone ${await untilGone(a, namespace)} ms after it was purged`);
    expect(await stored()).toEqual([]);
    const events = await kubectl.run("get", "events", "--namespace", "default", "-o", "jsonpath={.items[*].message}");
    expect(events).toContain(`1 ${CLAIMS} that no server served`);
  });
});

test("the help of purge-namespace describes the objects that the command keeps", async () => {
  await using command = run("purge-namespace", "--help");
  expect((await command.exited).code).toBe(0);
  expect(command.stdout).toMatch(/^Usage: evenkeel purge-namespace \[options\] <namespace>\n/);
  expect(command.stdout.replaceAll(/\s+/g, " ")).toContain(
    "Objects that a live or recently departed server serves are kept.",
  );
});
