import { expect, test } from "vitest";
import { KUBE_CONTROLLER_MANAGER_GRACE_MS, KubeControllerManagerLease } from "./kube-controller-manager-lease.ts";

const GRACE_MS = KUBE_CONTROLLER_MANAGER_GRACE_MS;

test("kube-controller-manager counts as running until 60 s after the last change of its lease", () => {
  const lease = new KubeControllerManagerLease();
  lease.seen("host_1", 5, 1_000);
  lease.seen("host_1", 6, 3_000);
  expect(lease.holder(3_000 + GRACE_MS - 1)).toEqual({ holder: "host_1", changedAtMs: 3_000 });
  expect(lease.holder(3_000 + GRACE_MS)).toBeUndefined();
});

test("a lease that is seen again without a change does not count as renewed", () => {
  const lease = new KubeControllerManagerLease();
  lease.seen("host_1", 5, 0);
  lease.seen("host_1", 5, 50_000);
  expect(lease.holder(GRACE_MS)).toBeUndefined();
});

test("a lease that expired counts again after its next change", () => {
  const lease = new KubeControllerManagerLease();
  lease.seen("host_1", 5, 0);
  expect(lease.holder(GRACE_MS)).toBeUndefined();
  lease.seen("host_2", 9, GRACE_MS + 1);
  expect(lease.holder(GRACE_MS + 2)?.holder).toBe("host_2");
});

test("a released lease counts as absent at once, and a lease that never existed as well", () => {
  const lease = new KubeControllerManagerLease();
  expect(lease.holder(0)).toBeUndefined();
  lease.seen("host_1", 5, 0);
  lease.seen("", 6, 1);
  expect(lease.holder(1)).toBeUndefined();
});

test("a deleted lease counts as held for another 60 s, because its holder may not have noticed", () => {
  const lease = new KubeControllerManagerLease();
  lease.seen("host_1", 5, 0);
  lease.gone(10_000);
  lease.gone(20_000);
  expect(lease.holder(10_000 + GRACE_MS - 1)?.holder).toBe("host_1");
  expect(lease.holder(10_000 + GRACE_MS)).toBeUndefined();
});
