/** Short notations for tests of StorageVersions: entries, live servers and conditions. */
import type { AgreementMember } from "../../../../src/cluster/storageversion/members.ts";
import {
  ALL_ENCODING_VERSIONS_EQUAL,
  type ServerStorageVersion,
  type StorageVersionCondition,
  type StorageVersionStatus,
} from "../../../../src/cluster/storageversion/objects.ts";

/**
 * The entry of one server. Versions are separated by spaces. By default, the server decodes and serves what it encodes.
 */
export function entry(id: string, encodes: string, decodes = encodes, serves = encodes): ServerStorageVersion {
  return {
    apiServerID: id,
    encodingVersion: encodes,
    decodableVersions: decodes.split(" "),
    servedVersions: serves.split(" "),
  };
}

export const LONG_AGO = "2001-01-01T00:00:00Z";

/** A condition as kube-apiserver writes it, with a transition time in the past. */
export const CONDITION_TRUE: StorageVersionCondition = {
  type: ALL_ENCODING_VERSIONS_EQUAL,
  status: "True",
  lastTransitionTime: LONG_AGO,
  reason: "CommonEncodingVersionSet",
  message: "Common encoding version set",
};

export const CONDITION_FALSE: StorageVersionCondition = {
  type: ALL_ENCODING_VERSIONS_EQUAL,
  status: "False",
  lastTransitionTime: LONG_AGO,
  reason: "CommonEncodingVersionUnset",
  message: "Common encoding version unset",
};

export function conditionUnknown(...pending: readonly string[]): StorageVersionCondition {
  return {
    type: ALL_ENCODING_VERSIONS_EQUAL,
    status: "Unknown",
    lastTransitionTime: LONG_AGO,
    reason: "ServersPending",
    message: `Waiting for the storage versions of ${pending.join(", ")}`,
  };
}

/** A condition that another controller has written. */
export const FOREIGN_CONDITION: StorageVersionCondition = {
  type: "example.com/Reviewed",
  status: "True",
  lastTransitionTime: LONG_AGO,
  reason: "Reviewed",
  message: "Reviewed by another controller.",
};

export function statusOf(
  entries: readonly ServerStorageVersion[],
  common: string | undefined,
  ...conditions: readonly StorageVersionCondition[]
): StorageVersionStatus {
  return {
    ...(entries.length === 0 ? {} : { storageVersions: entries }),
    ...(common === undefined ? {} : { commonEncodingVersion: common }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

/** Live servers by ID. "-" before an ID marks a server that has not published all its storage versions. */
export function liveServers(...ids: readonly string[]): ReadonlyMap<string, AgreementMember> {
  const members = ids.map((text) => ({ id: text.replace(/^-/, ""), isPublished: !text.startsWith("-") }));
  return new Map(members.map((member) => [member.id, member]));
}
