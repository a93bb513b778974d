import { expect, test } from "vitest";
import { issueCa, issueClient, NOW, type Issued } from "../../../test/testing/access/auth/certificates.ts";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import { authenticate } from "./authenticate.ts";
import { frontProxyVerifier } from "./authenticators/request-header.ts";
import { userVerifier, x509Authenticator } from "./authenticators/x509.ts";
import { createCertificateVerifier } from "./client-certificates.ts";
import { logRejectedCertificates } from "./rejected-certificates.ts";

const userCa = issueCa("user ca");
const proxyCa = issueCa("proxy ca");

function scene() {
  const lines: object[] = [];
  const clock = { now: (): number => NOW, monotonic: (): number => clock.monotonicMs, monotonicMs: 0 };
  const users = createCertificateVerifier(userCa.pem);
  const proxies = frontProxyVerifier({ allowedNames: ["proxy"] }, createCertificateVerifier(proxyCa.pem));
  const onRejected = logRejectedCertificates({
    clock,
    log: { warn: (message, fields) => void lines.push({ message, ...fields }) },
    verifiers: [proxies, userVerifier(users)],
  });
  const handler = authenticate([x509Authenticator(users, clock)], { onRejected })(() =>
    Promise.resolve({ status: 200, headers: {}, body: { kind: "none" } }),
  );
  const send = async (request: WithInfo): Promise<void> => {
    await Promise.resolve()
      .then(() => handler(request))
      .catch(() => undefined);
  };
  return { clock, lines, send };
}

function connected(...presented: readonly Issued[]): WithInfo {
  const clientChain = presented.map(({ certificate }) => certificate);
  const connection = { protocol: "h2", remoteAddress: "192.0.2.7", clientChain } as const;
  return { ...infoRequest({}), claims: new Map(), connection };
}

test("a rejected client certificate is logged with its subject and the reasons, once for each connection", async () => {
  const { lines, send } = scene();
  const subject = [
    ["O", "admins"],
    ["CN", "eve"],
  ] as const;
  const request = connected(issueClient(proxyCa, { subject }));
  await send(request);
  await send(request);
  expect(lines).toEqual([
    {
      message: "rejected client certificate",
      subject: "O=admins, CN=eve",
      issuer: "CN=proxy ca",
      remoteAddress: "192.0.2.7",
      reason: "x509: subject with cn=eve is not in the allowed list; x509: certificate signed by unknown authority",
    },
  ]);
});

test("requests without a certificate, or with an accepted one, are not logged", async () => {
  const { lines, send } = scene();
  await send(connected());
  await send(connected(issueClient(userCa)));
  expect(lines).toEqual([]);
});

test("many connections with rejected certificates log at most one message in a second", async () => {
  const { clock, lines, send } = scene();
  const stranger = issueClient(issueCa("unknown"), { subject: [["CN", "x".repeat(2_000)]] });
  for (let count = 0; count < 50; count++) await send(connected(stranger));
  clock.monotonicMs = 1_000;
  await send(connected(stranger));
  expect(lines).toMatchObject([{ reason: "x509: certificate signed by unknown authority" }, { suppressed: 49 }]);
  expect(JSON.stringify(lines[0]).length).toBeLessThan(1_000);
});

test("a certificate of the users' CA that names no user is logged with this reason", async () => {
  const { lines, send } = scene();
  await send(connected(issueClient(userCa, { subject: [["O", "admins"]] })));
  expect(lines).toMatchObject([
    { reason: "x509: certificate signed by unknown authority; x509: subject has no common name" },
  ]);
});
