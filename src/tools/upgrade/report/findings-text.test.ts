import { describe, expect, test } from "vitest";
import type { UpgradeFinding } from "../finding.ts";
import { exitCodeOf, unmatchedIds, withoutIgnored } from "./failing.ts";
import { findingsText, severityCounts } from "./findings-text.ts";

function finding(severity: UpgradeFinding["severity"], id: string, more: Partial<UpgradeFinding> = {}): UpgradeFinding {
  return { id, severity, title: `title of ${id}`, why: "Because.", fix: [], count: 0, subjects: [], ...more };
}

describe("findingsText", () => {
  test("lists the most severe finding first, with its subjects, its reason and its fix", () => {
    const subjects = [{ name: "pods a/b" }, { name: "pods a/c", detail: "owner: Job x" }];
    const error = finding("error", "bad", { count: 2, subjects, fix: ["Run this command:", "$ kubectl get pods"] });
    expect(findingsText([finding("info", "fine"), error])).toBe(
      [
        "error    title of bad [bad]",
        "         - pods a/b",
        "         - pods a/c (owner: Job x)",
        "  why    Because.",
        "  fix    Run this command:",
        "         $ kubectl get pods",
        "",
        "info     title of fine [fine]",
        "  why    Because.",
        "",
      ].join("\n"),
    );
  });

  test("counts the subjects that it does not list, including those that the finding does not hold", () => {
    const subjects = [{ name: "one" }, { name: "two" }];
    const text = findingsText([finding("error", "bad", { count: 250, subjects })], { namesMax: 1 });
    expect(text).toContain("- one\n         and 249 more\n");
  });

  test("breaks sentences at the width, and never breaks names and commands", () => {
    const long = finding("error", "bad", {
      why: "word ".repeat(40).trim(),
      fix: [`$ kubectl ${"x".repeat(90)} y`],
      count: 1,
      subjects: [{ name: `${"n".repeat(90)} m` }],
    });
    const lines = findingsText([long], { width: 60 }).split("\n");
    expect(lines.filter((line) => line.length > 60)).toHaveLength(2);
    expect(lines.filter((line) => line.includes("word")).length).toBeGreaterThan(3);
  });

  test("replaces control characters of names, because they could change what the terminal shows", () => {
    const text = findingsText([finding("error", "bad", { count: 1, subjects: [{ name: "a\u001b[2Jb\nc" }] })]);
    expect(text).toContain("- a\u{fffd}[2Jb\u{fffd}c\n");
  });

  test("colors only the severity, and keeps the columns", () => {
    const text = findingsText([finding("warning", "w")], { color: true });
    expect(text.startsWith("\u001b[33;1mwarning\u001b[0m  title")).toBe(true);
  });
});

test("severityCounts names only severities that occur", () => {
  const findings = [finding("warning", "a"), finding("error", "b"), finding("warning", "c")];
  expect(severityCounts(findings)).toBe("1 error, 2 warnings");
  expect(severityCounts([])).toBe("no findings");
});

describe("exitCodeOf", () => {
  test.each([
    ["error", 0],
    ["warning", 1],
    ["info", 1],
  ] as const)("with a warning as the most severe finding and --fail-on %s is %d", (failOn, code) => {
    expect(exitCodeOf([finding("info", "a"), finding("warning", "b")], failOn)).toBe(code);
  });

  test("is 0 for findings that the user ignores", () => {
    expect(exitCodeOf(withoutIgnored([finding("error", "a")], ["a"]))).toBe(0);
    expect(exitCodeOf(withoutIgnored([finding("error", "a")], ["b"]))).toBe(1);
  });
});

test("an ignored ID that no finding has is reported, because it may be misspelled", () => {
  expect(unmatchedIds([finding("error", "a")], ["a", "b"])).toEqual(["b"]);
});
