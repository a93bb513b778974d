import { describe, expect, test } from "vitest";

import { checkRuntimeConfig, parseRuntimeConfig, runtimeConfigState } from "./runtime-config.ts";

const jobs = { group: "batch", version: "v1", resource: "jobs" };
const betaJobs = { ...jobs, version: "v1beta1" };
const pods = { group: "", version: "v1", resource: "pods" };

function stateOf(text: string, target: typeof jobs): boolean | undefined {
  return runtimeConfigState(parseRuntimeConfig(text), target);
}

describe("runtime config", () => {
  test("that is empty enables and disables nothing", () => {
    expect(stateOf("", jobs)).toBeUndefined();
    expect(runtimeConfigState(parseRuntimeConfig([]), jobs)).toBeUndefined();
  });

  test.each([
    ["api/all=false,api/beta=true", jobs, false],
    ["api/all=false,api/beta=true", betaJobs, true],
    ["api/alpha=true", betaJobs, undefined],
    ["api/ga=false", pods, false],
    ["api/ga=false,v1=true", pods, true],
    ["api/ga=false,/v1=true", pods, true],
    ["batch/v1=false,batch/v1/jobs=true", jobs, true],
    ["batch/v1/jobs=true,batch/v1=false", jobs, true],
    ["batch/v1/jobs=false,batch/v1=true,api/all=true", jobs, false],
    ["batch/v1beta1/jobs=true", jobs, undefined],
    ["/v1/pods=false", pods, false],
    ["api/ga=false,api/v1=true", pods, true],
    ["api/v1/pods=false", pods, false],
    ["api/legacy=false", pods, undefined],
    ["api/legacy", pods, undefined],
  ])("%s is decided by its most specific entry", (text, target, expected) => {
    expect(stateOf(text, target)).toBe(expected);
  });

  test("treats a key without a value as true, and accepts the flag's spellings of booleans", () => {
    expect(stateOf("batch/v1", jobs)).toBe(true);
    expect(stateOf("batch/v1=F", jobs)).toBe(false);
    expect(stateOf(" batch/v1 = 1 ", jobs)).toBe(true);
  });

  test("uses the last value of a key, even if the flag is repeated", () => {
    expect(runtimeConfigState(parseRuntimeConfig(["batch/v1=true", "batch/v1=false"]), jobs)).toBe(false);
  });

  test.each([
    ["batch=true", /neither group\/version nor/],
    ["a/b/c/d=true", /neither group\/version nor/],
    ["batch/=true", /neither group\/version nor/],
    ["batch/v1/=true", /neither group\/version nor/],
    ["=true", /neither group\/version nor/],
    ["batch/v1=maybe", /neither true nor false/],
    ["api/all=maybe", /neither true nor false/],
    ["api/legacy=maybe", /neither true nor false/],
    ["batch/v1/Jobs=true", /lowercase plural/],
    ["api/all=false", /leaves nothing to serve/],
  ])("%s is rejected with a message that names the reason", (text, sentence) => {
    expect(() => parseRuntimeConfig(text)).toThrow(sentence);
  });

  test.each(["v1", "api/v1", "/v1"])("names the core group by %s", (key) => {
    const config = parseRuntimeConfig(`${key}=false,api/legacy=true`);
    checkRuntimeConfig(config, new Set(["v1", "batch/v1"]));
    expect(runtimeConfigState(config, { group: "", version: "v1", resource: "pods" })).toBe(false);
    expect(runtimeConfigState(config, { group: "batch", version: "v1", resource: "jobs" })).toBeUndefined();
  });

  test("with an unknown group, or an unknown version of a known group, is an error", () => {
    const known = new Set(["v1", "batch/v1"]);
    expect(() => checkRuntimeConfig(parseRuntimeConfig("example.com/v1=true"), known)).toThrow(
      /unknown api groups: example\.com/,
    );
    expect(() => checkRuntimeConfig(parseRuntimeConfig("api/v1beta1=true"), known)).toThrow(/unknown api groups: api/);
    expect(() => checkRuntimeConfig(parseRuntimeConfig("api/v2=true"), known)).toThrow(/unknown api groups: api/);
    expect(() => checkRuntimeConfig(parseRuntimeConfig("batch/v9/jobs=true"), known)).toThrow(
      /batch\/v9, which has not been/,
    );
    expect(() => parseRuntimeConfig("v2=true")).toThrow(/neither group\/version nor/);
  });

  test("with an unknown resource of a known group version is accepted", () => {
    expect(() =>
      checkRuntimeConfig(parseRuntimeConfig("batch/v1/unheardof=true"), new Set(["batch/v1"])),
    ).not.toThrow();
  });
});
