import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { createAuthority, issueCertificate } from "../../../serving/http/node/certificate-authority.ts";
import type { Backend } from "./load-balancer.ts";
import { createRollbackGuard, type Rollback, type RollbackGuard } from "./rollback-guard.ts";
import { parseServerSpec } from "./server-spec.ts";

const FINDING = {
  group: "resource.k8s.io",
  resource: "deviceclasses",
  storedVersion: "resource.k8s.io/v1",
  reason: "Kubernetes 1.33 reads it in v1beta1, not in v1",
  count: 30,
  names: Array.from({ length: 30 }, (_, index) => ({ name: `gpu-${index}` })),
};

interface Stub extends AsyncDisposable {
  readonly guard: RollbackGuard;
  readonly backend: Backend;
  readonly asked: string[];
}

async function serverWith(findings: readonly object[]): Promise<Stub> {
  const nowMs = Date.now();
  const ca = createAuthority({ commonName: "test", nowMs });
  const { certPem, keyPem } = issueCertificate({
    ca,
    commonName: "server",
    hosts: ["127.0.0.1"],
    usage: "serverAuth",
    nowMs,
  });
  const requests: string[] = [];
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    requests.push(`${request.headers.authorization} ${decodeURIComponent(request.url!)}`);
    response.end(`${JSON.stringify({ kind: "result", report: { findings } })}\n`);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    asked: requests,
    backend: { id: "a", host: "127.0.0.1", port: (server.address() as AddressInfo).port },
    guard: createRollbackGuard({ ca: ca.certPem, token: "t", featureGates: ["G=true"] }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function rollback(from: string, to: string, through: Backend | undefined): Rollback {
  return { id: "apiserver-1", from: parseServerSpec(from), to: parseServerSpec(to), through };
}

describe("the change of a server", () => {
  test.each(["1.36", "1.37", "1.36+batch/v1=false"])("from 1.36 to %s is not checked", async (to) => {
    await using server = await serverWith([FINDING]);
    await server.guard(rollback("1.36", to, server.backend));
    expect(server.asked).toEqual([]);
  });

  test("to an older release is allowed if that release can read and serves all stored objects", async () => {
    await using server = await serverWith([]);
    await server.guard(rollback("1.36", "1.33+batch/v1=false", server.backend));
    expect(server.asked).toEqual([
      "Bearer t /evenkeel/v1/rollback-check?to=1.33&runtimeConfig=batch/v1=false&featureGates=G=true",
    ]);
  });

  test("to an older release is rejected with the names of some objects that the release cannot read or does not serve", async () => {
    await using server = await serverWith([FINDING]);
    const rejected = server.guard(rollback("1.36", "1.33", server.backend));
    await expect(rejected).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(
        /^apiserver-1 would be rolled back from 1\.36 to 1\.33, which could not read or would not serve 30 stored objects\..*--force/,
      ),
    });
    await expect(rejected).rejects.toThrow(
      "\n  deviceclasses.resource.k8s.io gpu-19 (resource.k8s.io/v1)\n  and 10 more",
    );
    await expect(rejected).rejects.not.toThrow("gpu-20");
  });

  test("to an older release is rejected if no server can check the stored objects", async () => {
    const guard = createRollbackGuard({ ca: "", token: "t", featureGates: [] });
    await expect(guard(rollback("1.36", "1.33", undefined))).rejects.toThrow(/no server is running .* --force/);
    const nowhere = { id: "a", host: "127.0.0.1", port: 1 };
    await expect(guard(rollback("1.36", "1.33", nowhere))).rejects.toThrow(
      /could not be checked: .*127\.0\.0\.1:1.*; use --force /,
    );
  });
});
