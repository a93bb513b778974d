/** Annotates the audit event of a request that a peer has proxied. */
import type { WithUser } from "../auth/user.ts";
import { PROXIED_BY_ANNOTATION, type AuditTrail } from "../../serving/http/audit-trail.ts";

/** Names the peer by its server ID; if it sent none, by the name in its certificate. */
export function proxiedBy(request: WithUser, trail: Pick<AuditTrail, "annotate">): void {
  if (!request.isProxied) return;
  trail.annotate(PROXIED_BY_ANNOTATION, request.proxiedBy ?? certificateName(request) ?? "an unnamed server");
}

function certificateName({ connection }: WithUser): string | undefined {
  const [leaf] = connection.clientChain;
  return leaf === undefined ? undefined : /^CN=(.+)$/m.exec(leaf.subject)?.[1];
}
