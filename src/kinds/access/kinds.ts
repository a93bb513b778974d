/** Who may do what, who is believed, and what is admitted. */
import type { Kind, KindEntry } from "../kind.ts";

const CERTIFICATE_SIGNING_REQUEST: Kind = {
  // What was asked to be signed, and by whom, stays as it was asked.
  prepareUpdate(request, existing) {
    request["spec"] = existing["spec"];
  },
};

export const ACCESS_KINDS: readonly KindEntry[] = [
  ["certificates.k8s.io/CertificateSigningRequest", CERTIFICATE_SIGNING_REQUEST],
];
