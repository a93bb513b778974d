/** Waits until a cluster has settled after a fault, and checks the responses that clients got meanwhile. */
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { SmokeResponse, Json } from "../smoke/client.ts";
import {
  DEVICE_CLASSES,
  isRetryable,
  isSuccess,
  isUndecided,
  tallied,
  unexpected,
  type Load,
  type LoadResponse,
} from "./load.ts";
import type { Member } from "./start-cluster.ts";

/** A resource that is served by 1.34 and later releases. */
export const EXCLUSIVE = DEVICE_CLASSES.path;
export const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/** The time after a fault by which requests should succeed again. */
const SETTLED_MS = 8_000;
const SHARE_MIN = 0.9;
/** How long the load continues after SETTLED_MS. */
export const AFTERWARDS_MS = 1_000;

export function isSuccessOf(resource: string, sentAfter: number): (answer: LoadResponse) => boolean {
  return (response) => response.resource === resource && response.sentAt >= sentAfter && isSuccess(response);
}

/** Continues the load until well after the fault, then checks every response since the fault. */
export async function settled(load: Load, { at, name }: { readonly at: number; readonly name: string }): Promise<void> {
  const first = await load.until(isSuccessOf(DEVICE_CLASSES.name, at));
  await load.until(isSuccessOf(DEVICE_CLASSES.name, at + SETTLED_MS));
  await delay(AFTERWARDS_MS);
  const after = (await load.stop()).filter(({ answeredAt }) => answeredAt >= at);
  const exclusive = after.filter(({ resource }) => resource === DEVICE_CLASSES.name);
  const rejected = exclusive.filter(isRetryable);
  const lastRefused = Math.max(0, ...rejected.map(({ answeredAt }) => answeredAt - at));
  const slowest = Math.max(...exclusive.map(({ sentAt, answeredAt }) => answeredAt - sentAt));
  console.info(
    `${name}: first success ${first.answeredAt - at} ms after it, last rejection after ${lastRefused} ms, ` +
      `slowest response ${slowest} ms; ${tallied(exclusive)}`,
  );
  const isExcused = (response: LoadResponse): boolean => isUndecided(response) && response.sentAt < at + SETTLED_MS;
  expect(unexpected(after).filter((answer) => !isExcused(answer))).toEqual([]);
  // Some requests may fail, because on a busy machine the remaining server may miss its probes, too.
  const share = (responses: readonly LoadResponse[]): number => responses.filter(isSuccess).length / responses.length;
  expect(share(exclusive.filter(({ operation }) => operation === "list"))).toBeGreaterThan(SHARE_MIN);
  expect(share(exclusive.filter(({ sentAt }) => sentAt >= at + SETTLED_MS))).toBeGreaterThan(SHARE_MIN);
}

/** Repeats the GET until it returns the status, and returns all statuses. */
export async function untilStatus(member: Member, path: string, status: number): Promise<number[]> {
  const seen: number[] = [];
  for (;;) {
    const response = await member.request("GET", path);
    seen.push(response.status);
    if (response.status === status) return seen;
    await delay(20);
  }
}

/**
 * Repeats the GET until its response does not depend on a server that is just joining or departing, and returns this
 * response.
 */
export async function untilSettledAnswer(member: Member): Promise<SmokeResponse> {
  for (;;) {
    const response = await member.request("GET", EXCLUSIVE);
    const rule = response.body.details?.causes?.find(({ field }: Json) => field === "rule")?.message;
    if (rule !== "peer-not-described" && rule !== "peer-unreachable" && rule !== "served-by-peer") return response;
    await delay(20);
  }
}

export async function untilReachable(member: Member, ids: readonly string[]): Promise<void> {
  for (;;) {
    const { body } = await member.request("GET", "/evenkeel/v1/status");
    const isWell = (id: string): boolean =>
      body.servers.some((server: Json) => server.id === id && server.isReachable && server.isDescribed);
    if (ids.every(isWell)) return;
    await delay(50);
  }
}

export async function groupVersions(member: Member): Promise<string[]> {
  const { body } = await member.request("GET", "/apis", undefined, { accept: AGGREGATED });
  return body.items.flatMap((group: Json) =>
    group.versions.map(({ version }: Json) => `${group.metadata.name}/${version}`),
  );
}

/** Waits until the group version is present in discovery or absent, and returns that time. */
export async function untilDiscovery(member: Member, wanted: "present" | "absent"): Promise<number> {
  for (;;) {
    const isPresent = (await groupVersions(member)).includes("resource.k8s.io/v1");
    if (isPresent === (wanted === "present")) return Date.now();
    await delay(50);
  }
}
