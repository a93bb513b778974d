/**
 * Tests kubectl with every kind of credentials: as which user it is authenticated, what it may do, and what it prints
 * when a request is denied.
 */
import { rmSync, writeFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
} from "../../src/serving/http/node/certificate-authority.ts";
import type { Json } from "../smoke/client.ts";
import { startEvenkeel, temporaryDirectory, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { KubectlSession } from "./kubectl-session.ts";
import { findTools } from "./tools.ts";

const RELEASE = "1.36";
const NAMESPACE = "identity";
const UNAUTHORIZED = "error: You must be logged in to the server (Unauthorized)\n";
/** The server checks files every ten seconds, or later on a busy machine. */
const RELOAD_POLLS_MAX = 60;
const POLL_MS = 250;

const { kubectls, missing } = findTools();
if (missing !== undefined) console.warn(missing);
const { path } = kubectls.find(({ version }) => version === RELEASE)!;

interface Caller {
  readonly certificate?: KeyedCertificate;
  readonly token?: string;
}

describe.skipIf(path === undefined)("kubectl", { timeout: 60_000 }, () => {
  const directory = temporaryDirectory();
  const clientCaFile = join(directory, "client-ca.crt");
  const nowMs = Date.now();
  const ca = createAuthority({ commonName: "client-ca", nowMs });
  const jane = issueCertificate({ ca, commonName: "jane", organizations: ["devs"], usage: "clientAuth", nowMs });
  let server: Evenkeel;
  let admin: KubectlSession;

  beforeAll(async () => {
    writeFileSync(clientCaFile, ca.certPem);
    const flags = ["--release", RELEASE, "--client-ca-file", clientCaFile, "--anonymous-auth=false"];
    server = await startEvenkeel({ flags });
    admin = new KubectlSession({ path: path!, server, namespace: NAMESPACE });
    await admin.run("create", "namespace", NAMESPACE);
    await admin.run("create", "configmap", "first", "--from-literal=a=1");
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  function as(name: string, { certificate, token }: Caller): KubectlSession {
    const base64 = (text: string): string => Buffer.from(text).toString("base64");
    const user = {
      ...(token === undefined ? {} : { token }),
      ...(certificate && {
        "client-certificate-data": base64(certificate.certPem),
        "client-key-data": base64(certificate.keyPem),
      }),
    };
    const cluster = { server: server.url, "certificate-authority-data": base64(server.ca) };
    const config = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
      clusters: [{ name: "c", cluster }],
      users: [{ name: "c", user }],
      contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
    };
    return admin.withEnv({ KUBECONFIG: admin.file(`${name}.kubeconfig`, config) });
  }

  const whoIs = async (kubectl: KubectlSession, ...flags: string[]): Promise<Json> =>
    (await kubectl.json<Json>("auth", "whoami", ...flags)).status.userInfo;
  const cannot = (user: string, verb: string, where = `in the namespace "${NAMESPACE}"`): string =>
    `configmaps is forbidden: User "${user}" cannot ${verb} resource "configmaps" in API group "" ${where}\n`;

  test("with a client certificate is the user of its common name, with its organizations as groups", async () => {
    const kubectl = as("jane", { certificate: jane });
    expect(await whoIs(kubectl)).toEqual({
      username: "jane",
      groups: ["devs", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
    });
    expect(await kubectl.fails("get", "configmaps")).toBe(`Error from server (Forbidden): ${cannot("jane", "list")}`);
    expect(await kubectl.fails("get", "configmaps", "-A")).toBe(
      `Error from server (Forbidden): ${cannot("jane", "list", "at the cluster scope")}`,
    );
    expect(await kubectl.fails("get", "configmap", "first")).toBe(
      `Error from server (Forbidden): configmaps "first" is forbidden: User "jane" cannot get resource "configmaps" in API group "" in the namespace "${NAMESPACE}"\n`,
    );
    await admin.run("create", "rolebinding", "devs-view", "--clusterrole=view", "--group=devs");
    expect(await kubectl.run("get", "configmaps", "first", "-o", "name")).toBe("configmap/first\n");
    expect(await kubectl.fails("create", "configmap", "second")).toBe(
      `error: failed to create configmap: ${cannot("jane", "create")}`,
    );
    expect(await kubectl.fails("get", "--raw", "/metrics")).toBe(
      'Error from server (Forbidden): forbidden: User "jane" cannot get path "/metrics"\n',
    );
  });

  test("shows the permissions of its user", async () => {
    const kubectl = as("jane", { certificate: jane });
    expect(await kubectl.run("auth", "can-i", "list", "pods")).toBe("yes\n");
    await using rejected = kubectl.start("auth", "can-i", "delete", "pods");
    expect([(await rejected.exited).code, rejected.stdout]).toEqual([1, "no\n"]);
    await using secret = kubectl.start("auth", "can-i", "get", "secrets/x", "-q");
    expect((await secret.exited).code).toBe(1);
    const list = await kubectl.run("auth", "can-i", "--list");
    const rows = list.split("\n").map((line) => line.trimEnd().split(/ {2,}/));
    expect(rows[0]).toEqual(["Resources", "Non-Resource URLs", "Resource Names", "Verbs"]);
    expect(rows).toContainEqual(["selfsubjectaccessreviews.authorization.k8s.io", "[]", "[]", "[create]"]);
    expect(rows).toContainEqual(["configmaps", "[]", "[]", "[get list watch]"]);
    expect(list).toMatch(/^ +\[\/healthz\] +\[\] +\[get\]$/m);
    expect(await admin.run("auth", "can-i", "*", "*", "-A")).toBe("yes\n");
    expect(await admin.run("auth", "can-i", "--list", "--no-headers")).toMatch(/^\*\.\* +\[\] +\[\] +\[\*\]$/m);
  });

  test("with a service account token is authenticated as the service account, until the account is deleted", async () => {
    await admin.run("create", "serviceaccount", "robot");
    const token = (await admin.run("create", "token", "robot", "--duration=10m")).trim();
    const kubectl = as("robot", { token });
    const username = `system:serviceaccount:${NAMESPACE}:robot`;
    expect(await whoIs(kubectl)).toEqual({
      username,
      uid: (await admin.object("serviceaccounts/robot")).metadata.uid,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${NAMESPACE}`, "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^JTI=/)] },
    });
    expect(await kubectl.fails("get", "configmaps")).toBe(`Error from server (Forbidden): ${cannot(username, "list")}`);
    await admin.run("create", "rolebinding", "robot", "--clusterrole=edit", `--serviceaccount=${NAMESPACE}:robot`);
    expect(await kubectl.run("create", "configmap", "by-robot")).toBe("configmap/by-robot created\n");
    expect(await kubectl.fails("create", "namespace", "x")).toBe(
      `Error from server (Forbidden): namespaces is forbidden: User "${username}" cannot create resource "namespaces" in API group "" at the cluster scope\n`,
    );
    const foreign = (await admin.run("create", "token", "robot", "--audience=https://vault.example.com")).trim();
    expect(await as("foreign", { token: foreign }).fails("get", "configmaps")).toBe(UNAUTHORIZED);
    expect(await as("forged", { token: `${token.slice(0, -4)}AAAA` }).fails("get", "configmaps")).toBe(UNAUTHORIZED);
    expect(await admin.fails("create", "token", "nobody")).toBe(
      'error: failed to create token: serviceaccounts "nobody" not found\n',
    );
    await admin.run("delete", "serviceaccount", "robot");
    expect(await kubectl.fails("get", "configmaps")).toBe(UNAUTHORIZED);
  });

  test("impersonates exactly the user of --as, --as-group and --as-uid if its own user is an administrator", async () => {
    expect(await whoIs(admin, "--as", "anna")).toEqual({ username: "anna", groups: ["system:authenticated"] });
    const all = ["--as", "anna", "--as-group", "devs", "--as-group", "ops", "--as-uid", "u-7"];
    expect(await whoIs(admin, ...all)).toEqual({
      ...{ username: "anna", uid: "u-7", groups: ["devs", "ops", "system:authenticated"] },
    });
    expect(await admin.fails("get", "configmaps", "--as", "anna")).toBe(
      `Error from server (Forbidden): ${cannot("anna", "list")}`,
    );
    expect(await admin.run("get", "configmaps", "first", "-o", "name", "--as", "anna", "--as-group", "devs")).toBe(
      "configmap/first\n",
    );
    const account = `system:serviceaccount:${NAMESPACE}:default`;
    expect(await whoIs(admin, "--as", account)).toEqual({
      username: account,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${NAMESPACE}`, "system:authenticated"],
    });
    const kubectl = as("jane", { certificate: jane });
    const rejection = `Error from server (Forbidden): ${cannot("jane", "impersonate-on:user-info:list")}`;
    expect(await kubectl.fails("get", "configmaps", "--as", "admin", "--as-group", "system:masters")).toBe(rejection);
    expect(await kubectl.fails("get", "configmaps", "--as", "jane", "--as-uid", "0")).toBe(rejection);
  });

  test("auth reconcile updates roles and bindings to those of a file, within the permissions of its user", async () => {
    const api = { apiVersion: "rbac.authorization.k8s.io/v1" };
    const rule = (verbs: readonly string[]): Json => ({ apiGroups: [""], resources: ["configmaps"], verbs });
    const role = (verbs: readonly string[]): Json => ({
      ...{ ...api, kind: "Role", metadata: { name: "reader", namespace: NAMESPACE }, rules: [rule(verbs)] },
    });
    const [plain, wider] = [admin.file("plain.json", role(["get"])), admin.file("wider.json", role(["get", "list"]))];
    const stdout = "role.rbac.authorization.k8s.io/reader reconciled\n";
    const added = (verb: string): string =>
      `\tmissing rules added:\n\t\t{Verbs:[${verb}] APIGroups:[] Resources:[configmaps] ResourceNames:[] NonResourceURLs:[]}\n`;
    expect(await admin.both("auth", "reconcile", "-f", plain)).toEqual({
      ...{ stdout, stderr: `\treconciliation required create\n${added("get")}` },
    });
    expect(await admin.both("auth", "reconcile", "-f", wider)).toEqual({
      ...{ stdout, stderr: `\treconciliation required update\n${added("list")}` },
    });
    const { rules } = await admin.object("roles/reader", "rbac.authorization.k8s.io/v1");
    expect(rules.flatMap(({ verbs }: Json) => verbs).toSorted()).toEqual(["get", "list"]);
    const kubectl = as("jane", { certificate: jane });
    await admin.run(
      "create",
      "role",
      "roles",
      "--verb=get,create,update",
      "--resource=roles.rbac.authorization.k8s.io",
    );
    await admin.run("create", "rolebinding", "roles", "--role=roles", "--user=jane");
    const all = admin.file("all.json", { ...role(["*"]), metadata: { name: "all", namespace: NAMESPACE } });
    await using rejected = kubectl.start("auth", "reconcile", "-f", all);
    expect((await rejected.exited).code).toBe(1);
    expect(rejected.stderr).toContain(
      'roles.rbac.authorization.k8s.io "all" is forbidden: user "jane" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["configmaps"], Verbs:["*"]}\n',
    );
  });

  test("without credentials is rejected if anonymous requests are disabled", async () => {
    for (const target of ["/version", "/livez", "/api/v1/namespaces"]) expect(await statusOf(server, target)).toBe(401);
    const basic = ["--username", "admin", "--password", "admin"];
    expect(await as("stranger", {}).fails("get", "configmaps", ...basic)).toBe(UNAUTHORIZED);
    expect(await as("wrong", { token: "wrong" }).fails("auth", "whoami")).toBe(UNAUTHORIZED);
  });

  test("is accepted with a certificate of a new CA after the CA file has been replaced, and rejected with one of the old CA", async () => {
    const next = createAuthority({ commonName: "next-ca", nowMs });
    const anna = issueCertificate({
      ca: next,
      commonName: "anna",
      organizations: ["devs"],
      usage: "clientAuth",
      nowMs,
    });
    const [before, after] = [as("jane", { certificate: jane }), as("anna", { certificate: anna })];
    expect(await after.fails("get", "configmaps")).toBe(UNAUTHORIZED);
    writeFileSync(clientCaFile, next.certPem);
    let polls = 0;
    while ((await statusOf(server, "/version", anna)) === 401 && polls++ < RELOAD_POLLS_MAX) await pause(POLL_MS);
    expect(polls).toBeLessThan(RELOAD_POLLS_MAX);
    expect(await whoIs(after)).toMatchObject({ username: "anna", groups: ["devs", "system:authenticated"] });
    expect(await before.fails("get", "configmaps")).toBe(UNAUTHORIZED);
    expect(await admin.run("get", "configmaps", "first", "-o", "name")).toBe("configmap/first\n");
  });
});

function statusOf({ url, ca }: Evenkeel, target: string, shown?: KeyedCertificate): Promise<number> {
  const certificate = shown && { cert: shown.certPem, key: shown.keyPem };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(`${url}${target}`, { ca, agent: false, ...certificate }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("error", reject);
    request.end();
  });
}
