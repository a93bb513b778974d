/**
 * Logs why the client certificate of an unauthenticated request was rejected. Without it, an operator would see only
 * that the client receives 401.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import type { CertificateChain, CertificateVerifier } from "./client-certificates.ts";

interface RejectedCertificatesOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly log: Pick<Log, "warn">;
  /** The verifiers of all purposes of client certificates. */
  readonly verifiers: readonly CertificateVerifier[];
}

/** A client can open any number of connections, so at most one message is logged in this time. */
const LOG_INTERVAL_MS = 1_000;
/** Maximum length of a name in a message, because the client has chosen it. */
const NAME_LENGTH_MAX = 256;

/** Returns a function for requests that no authenticator accepted. It logs once for each connection. */
export function logRejectedCertificates({
  clock,
  log,
  verifiers,
}: RejectedCertificatesOptions): (request: WithInfo) => void {
  const logged = new WeakSet<CertificateChain>();
  let lastMs: number | undefined;
  let suppressed = 0;
  return ({ connection: { clientChain, remoteAddress } }) => {
    const [leaf] = clientChain;
    if (leaf === undefined || logged.has(clientChain)) return;
    logged.add(clientChain);
    const reasons = verifiers.map((verify) => verify(clientChain, clock.now()));
    // If one purpose accepts the certificate, the request was rejected for another reason.
    if (!reasons.every((reason) => reason !== undefined)) return;
    const nowMs = clock.monotonic();
    if (lastMs !== undefined && nowMs - lastMs < LOG_INTERVAL_MS) {
      suppressed++;
      return;
    }
    log.warn("rejected client certificate", {
      subject: short(leaf.subject),
      issuer: short(leaf.issuer),
      remoteAddress,
      reason: [...new Set(reasons.map(short))].join("; "),
      ...(suppressed === 0 ? {} : { suppressed }),
    });
    lastMs = nowMs;
    suppressed = 0;
  };
}

/** Node shows each attribute of a name on its own line. */
function short(name: string): string {
  return name.replaceAll("\n", ", ").slice(0, NAME_LENGTH_MAX);
}
