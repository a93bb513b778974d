/** Parses the user names of service accounts and nodes. */
import { dnsLabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";

interface AccountName {
  readonly namespace: string;
  readonly name: string;
}

const ACCOUNT_PREFIX = "system:serviceaccount:";
const NODE_PREFIX = "system:node:";

export function serviceAccountOf(username: string): AccountName | undefined {
  if (!username.startsWith(ACCOUNT_PREFIX)) return undefined;
  const [namespace = "", name = "", ...more] = username.slice(ACCOUNT_PREFIX.length).split(":");
  if (more.length > 0 || dnsLabelErrors(namespace).length > 0 || dnsSubdomainErrors(name).length > 0) return undefined;
  return { namespace, name };
}

export function serviceAccountGroups(namespace: string): string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}

export const NODES_GROUP = "system:nodes";

export function nodeOfUsername(username: string): string | undefined {
  if (!username.startsWith(NODE_PREFIX)) return undefined;
  const name = username.slice(NODE_PREFIX.length);
  return dnsSubdomainErrors(name).length === 0 ? name : undefined;
}
