/** Creates the user that a service account token authenticates as. */
import { AUTHENTICATED, type User } from "../user.ts";
import type { ObjectClaim } from "./claims.ts";

const PREFIX = "system:serviceaccount:";
const KEY_PREFIX = "authentication.kubernetes.io/";

interface AccountUse {
  readonly namespace: string;
  readonly serviceAccount: ObjectClaim;
  readonly pod?: ObjectClaim | undefined;
  readonly node?: ObjectClaim | undefined;
  /** The ID of the token (jti), for the extra credential-id; empty if the token has none. */
  readonly tokenId?: string;
}

export function accountUsername(namespace: string, name: string): string {
  return `${PREFIX}${namespace}:${name}`;
}

export function credentialId(tokenId: string): string {
  return `JTI=${tokenId}`;
}

export function accountUser({ namespace, serviceAccount, pod, node, tokenId = "" }: AccountUse): User {
  return {
    name: accountUsername(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, AUTHENTICATED],
    extra: {
      ...(tokenId === "" ? {} : { [`${KEY_PREFIX}credential-id`]: [credentialId(tokenId)] }),
      ...(node === undefined || node.name === "" ? {} : { [`${KEY_PREFIX}node-name`]: [node.name] }),
      ...(node === undefined || node.name === "" || node.uid === "" ? {} : { [`${KEY_PREFIX}node-uid`]: [node.uid] }),
      ...(pod === undefined || pod.name === "" || pod.uid === ""
        ? {}
        : { [`${KEY_PREFIX}pod-name`]: [pod.name], [`${KEY_PREFIX}pod-uid`]: [pod.uid] }),
    },
  };
}
