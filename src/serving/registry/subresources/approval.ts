/**
 * Writes the approval of a CertificateSigningRequest, which has a subresource of its own so that it can be authorized
 * separately.
 */
import { withTransitionTimes } from "../../../objects/kinds/access/certificates.ts";
import { requestUpdateErrors } from "../../../objects/kinds/access/signing-request-rules.ts";
import { firstErrors } from "../../../meta/field-errors.ts";
import { objectAt } from "../../../meta/json.ts";
import { passMetadata, type SubresourceStrategy } from "./partial-update.ts";

export const APPROVAL_STRATEGY: SubresourceStrategy = {
  subresource: "approval",
  isTimed: true,
  pass(requested, existing) {
    const { conditions: _before, ...status } = objectAt(existing, "status");
    const { conditions } = objectAt(requested, "status");
    const next = conditions === undefined ? status : { ...status, conditions };
    const { status: _status, ...rest } = existing;
    return {
      ...rest,
      metadata: passMetadata(requested, existing),
      ...(Object.keys(next).length === 0 && existing["status"] === undefined ? {} : { status: next }),
    };
  },
  complete(request, existing, now) {
    const { conditions } = objectAt(request, "status");
    if (!Array.isArray(conditions)) return request;
    return {
      ...request,
      status: { ...objectAt(request, "status"), conditions: withTransitionTimes(conditions, existing, now) },
    };
  },
  errors: (request, existing) => firstErrors(requestUpdateErrors(request, existing, "approval")),
};
