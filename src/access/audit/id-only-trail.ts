/** The audit trail of a request that is not audited: it only holds the audit ID. */
import type { AuditTrail } from "../../serving/http/audit-trail.ts";

export class IdOnlyTrail implements AuditTrail {
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }

  annotate(): void {}

  impersonated(): void {}

  requestObject(): void {}
}
