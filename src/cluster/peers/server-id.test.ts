import { describe, expect, test } from "vitest";
import { serverId } from "./server-id.ts";

describe("the server ID", () => {
  test.each([
    ["test-server-a", "apiserver-tcwjsvs6hjq4qbwzx5rvp5fsqe"],
    ["test-server-b", "apiserver-scg43bmblmfhqplxpiyqlziyzi"],
    ["test-server-c", "apiserver-7gxf3z6xqc55llon7evxtil7li"],
    ["master-1", "apiserver-wj467rbl25eeviqacfhvg2yvnm"],
  ])("for the host %s is the one that kube-apiserver computes", (hostname, id) => {
    expect(serverId(hostname)).toBe(id);
  });

  test("of another component on the same host is different", () => {
    expect(serverId("master-1", "wardle-apiserver")).not.toBe(serverId("master-1"));
    expect(serverId("master-1", "kube-apiserver")).toBe(serverId("master-1"));
  });

  test("is valid for any hostname", () => {
    for (const hostname of ["", "ümläut", "a".repeat(300), "x\ny"]) {
      expect(serverId(hostname)).toMatch(/^apiserver-[a-z2-7]{26}$/);
    }
  });
});
