import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { dataSourceOf, requireNewerTargets, withInspectFlags, type InspectFlags } from "./inspect-flags.ts";

function parsed(...args: string[]): InspectFlags {
  const command = withInspectFlags(new Command("inspect"))
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  return command.parse(args, { from: "user" }).opts<InspectFlags>();
}

const problemOf = (...args: string[]): string => {
  try {
    dataSourceOf(parsed(...args));
  } catch (thrown) {
    return (thrown as Error).message;
  }
  return "";
};

describe("the source of evenkeel inspect", () => {
  test.each([
    ["etcdSnapshot", ["--etcd-snapshot", "a.db"]],
    ["etcdServers", ["--etcd-servers", "http://127.0.0.1:2379", "--etcd-cafile", "ca.crt"]],
    ["kubeconfig", ["--kubeconfig", "config", "--context", "prod"]],
  ])("is %s if the flags name it", (source, args) => {
    expect(dataSourceOf(parsed(...args))).toBe(source);
  });

  test("must be exactly one", () => {
    expect(problemOf()).toBe("nothing to inspect: give one of --etcd-snapshot, --etcd-servers, --kubeconfig");
    expect(problemOf("--etcd-snapshot", "a.db", "--kubeconfig", "config")).toBe(
      "--etcd-snapshot and --kubeconfig are given: give only one of --etcd-snapshot, --etcd-servers, --kubeconfig",
    );
  });

  test("rejects the flags of another source", () => {
    expect(problemOf("--etcd-snapshot", "a.db", "--etcd-cafile", "ca.crt")).toBe(
      "--etcd-cafile: set --etcd-servers, too",
    );
    expect(problemOf("--etcd-snapshot", "a.db", "--context", "prod")).toBe("--context: set --kubeconfig, too");
  });

  test.each([[["--unreadable"]], [["--encryption-provider-config", "e.yaml"]]])(
    "rejects %j for the API, which shows no stored values",
    ([flag = "", ...value]) => {
      expect(problemOf("--kubeconfig", "config", flag, ...value)).toBe(
        `${flag} needs stored values, which the API does not show: use --etcd-snapshot or --etcd-servers`,
      );
    },
  );
});

describe("the targets of evenkeel inspect", () => {
  test("are rejected if all are older than the current release, with the command for a rollback", () => {
    expect(() => requireNewerTargets(parsed("--to", "1.31,1.32"), "1.33")).toThrow(
      "--to 1.32 is older than the current release 1.33, and inspect reports on upgrades only; " +
        "to see what 1.32 cannot read after a rollback, use --from 1.32 --to 1.33",
    );
  });

  test.each([["1.33"], ["1.32,1.34"], ["1.34"]])("--to %s is accepted from 1.33 on", (to) => {
    expect(() => requireNewerTargets(parsed("--to", to), "1.33")).not.toThrow();
  });

  test("are accepted if they are not set or the current release is unknown", () => {
    expect(() => requireNewerTargets(parsed(), "1.33")).not.toThrow();
    expect(() => requireNewerTargets(parsed("--to", "1.33"), undefined)).not.toThrow();
  });
});

describe("the flags of evenkeel inspect", () => {
  test("accept releases with a v and with a patch release, repeated or as a list", () => {
    const { from, to } = parsed("--from", "v1.33.4", "--to", "1.34,1.35", "--to", "1.36");
    expect(from).toBe("1.33");
    expect(to).toEqual(["1.34", "1.35", "1.36"]);
  });

  test.each(["1.99", "latest", "2.0", "1.3x"])("reject the unknown release %s", (text) => {
    expect(() => parsed("--to", text)).toThrow(/is not one of 1\.28, .*1\.37/);
  });

  test.each([
    ["registry", "/registry"],
    ["/registry/", "/registry"],
    ["/prod/k8s", "/prod/k8s"],
  ])("accept the prefix %s with and without slashes", (text, prefix) => {
    expect(parsed("--etcd-prefix", text).etcdPrefix).toBe(prefix);
  });

  test("have the defaults of kube-apiserver and of a check", () => {
    expect(parsed()).toEqual({ etcdPrefix: "/registry", failOn: "error", output: "text" });
  });
});
