/** The served kind TokenRequest. It is the body of a subresource of service accounts and never stored. */
import { assert } from "../../../../base/assert.ts";
import type { GroupVersion } from "../../../../meta/group-version.ts";
import type { ServedResource } from "../../../registry/resource.ts";
import { bindingKind } from "../kinds.ts";

export const TOKEN_REQUEST = { group: "authentication.k8s.io", kind: "TokenRequest" } as const;

const AUTHENTICATION_V1: GroupVersion = { group: TOKEN_REQUEST.group, version: "v1" };
const API_VERSION = "authentication.k8s.io/v1";

export function tokenRequestKind(accounts: ServedResource): ServedResource {
  const schema = accounts.schemaOf(AUTHENTICATION_V1, TOKEN_REQUEST.kind);
  assert(schema !== undefined, "every release has the kind TokenRequest");
  const { kind } = TOKEN_REQUEST;
  return {
    ...bindingKind(accounts),
    stored: { ...accounts.stored, storageVersion: AUTHENTICATION_V1 },
    groupVersion: AUTHENTICATION_V1,
    apiVersion: API_VERSION,
    kind,
    listKind: `${kind}List`,
    schema,
    schemaOf: (asked, of) =>
      of === undefined ? accounts.schemaOf(AUTHENTICATION_V1, kind) : accounts.schemaOf(asked, of),
    objectHead: Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(API_VERSION)},`),
  };
}
