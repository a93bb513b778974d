/** Annotates the audit event of a request with the peer that proxied it. */
import type { WithUser } from "../auth/user.ts";
import { PROXIED_BY_ANNOTATION, type AuditTrail } from "../../serving/http/audit-trail.ts";

/** Names the peer by the server ID that it sent, or else by the common name in its certificate. */
export function proxiedBy(request: WithUser, trail: Pick<AuditTrail, "annotate">): void {
  if (!request.isProxied) return;
  trail.annotate(PROXIED_BY_ANNOTATION, request.proxiedBy ?? certificateName(request) ?? "an unnamed server");
}

function certificateName({ connection }: WithUser): string | undefined {
  const [leaf] = connection.clientChain;
  return leaf === undefined ? undefined : /^CN=(.+)$/m.exec(leaf.subject)?.[1];
}
