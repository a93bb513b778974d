/** Serializes the AdmissionReview that is sent to a webhook. Pure. */
import type { Attributes, ServedVersion } from "../admission.ts";
import type { User } from "../../auth/user.ts";
import type { ReviewVersion } from "../../webhook-client/webhook-client.ts";

export const REVIEW_GROUP = "admission.k8s.io";

interface AdmissionReviewRequest {
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly attributes: Attributes;
  /** The API version in which the webhook receives the object. */
  readonly seen: ServedVersion;
  /** `object` and `existing` are JSON texts in that version; "null" if there is no object. */
  readonly object: string;
  readonly existing: string;
}

export function admissionReviewText({
  version,
  uid,
  attributes,
  seen,
  object,
  existing,
}: AdmissionReviewRequest): string {
  const { groupVersion, resource, subresource, kind, name, namespace, operation, user, dryRun, options } = attributes;
  const head = [
    member("uid", uid),
    member("kind", kindOf(seen.kind)),
    member("resource", resourceOf(seen.groupVersion, seen.resource)),
    ...ifAny("subResource", subresource),
    member("requestKind", kindOf(kind)),
    member("requestResource", resourceOf(groupVersion, resource)),
    ...ifAny("requestSubResource", subresource),
    ...ifAny("name", name),
    ...ifAny("namespace", namespace),
    member("operation", operation),
    member("userInfo", userInfo(user)),
    `"object":${object}`,
    `"oldObject":${existing}`,
    member("dryRun", dryRun),
    member("options", options ?? null),
  ];
  return `{"kind":"AdmissionReview","apiVersion":"${REVIEW_GROUP}/${version}","request":{${head.join(",")}}}`;
}

function member(name: string, value: unknown): string {
  return `"${name}":${JSON.stringify(value)}`;
}

function ifAny(name: string, text: string): string[] {
  return text === "" ? [] : [member(name, text)];
}

function kindOf({ group, version, kind }: ServedVersion["kind"]): object {
  return { group, version, kind };
}

function resourceOf({ group, version }: ServedVersion["groupVersion"], resource: string): object {
  return { group, version, resource };
}

function userInfo({ name, uid, groups, extra }: User): object {
  return {
    ...(name === "" ? {} : { username: name }),
    ...(uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}
