import { expect, test } from "vitest";
import { connectProblem } from "./connect-problem.ts";

const HTTP = new URL("http://etcd-1:2379");
const HTTPS = new URL("https://etcd-1:2379");

test.each([
  [HTTP, "the connection was closed", "with https://"],
  [HTTPS, "Client network socket disconnected before secure TLS connection was established", "with http://"],
  [HTTPS, "self-signed certificate in certificate chain", "--etcd-cafile"],
  [HTTPS, "unable to get local issuer certificate", "--etcd-cafile"],
  [HTTPS, "error:0A00045C:SSL routines::tlsv13 alert certificate required", "--etcd-certfile and --etcd-keyfile"],
])("a connection to %s that fails with %j has the advice %s", (endpoint, reason, advice) => {
  expect(connectProblem(endpoint, reason).startsWith(`${reason}; `)).toBe(true);
  expect(connectProblem(endpoint, reason)).toContain(advice);
});

test("other failures have no advice, and never that of Node.js", () => {
  expect(connectProblem(HTTP, "connect ECONNREFUSED 127.0.0.1:1")).toBe("connect ECONNREFUSED 127.0.0.1:1");
  const ofNode = "; if the root CA is installed locally, try running Node.js with --use-system-ca";
  expect(connectProblem(HTTPS, `certificate has expired${ofNode}`)).toBe("certificate has expired");
});
